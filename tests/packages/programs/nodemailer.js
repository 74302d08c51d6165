// nodemailer: messages with attachments composed to a stream and to JSON.
import nodemailer from "nodemailer";
import { program, text } from "../program.js";

export default program(async (same) => {
  const message = { from: "Ada <ada@example.com>", to: ["bo@example.com", "C\u00e9 <ce@example.com>"], subject: "Gr\u00fc\u00dfe", text: "plain", html: "<b>rich</b>", date: new Date(0), messageId: "<1@example.com>", attachments: [{ filename: "a.txt", content: "attached" }] };
  const composed = await nodemailer.createTransport({ streamTransport: true, newline: "unix" }).sendMail(message);
  const raw = await text(composed.message);
  same("envelope", composed.envelope, { from: "ada@example.com", to: ["bo@example.com", "ce@example.com"] });
  same("headers", [raw.includes("Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?="), raw.includes("Content-Type: multipart/mixed"), raw.includes("filename=a.txt"), raw.includes(btoa("attached"))], [true, true, true, true]);
  const json = await nodemailer.createTransport({ jsonTransport: true }).sendMail(message);
  same("json", JSON.parse(json.message).subject, "Gr\u00fc\u00dfe");
  const signed = await nodemailer.createTransport({ streamTransport: true, buffer: true }).sendMail({ ...message, headers: { "X-Custom": "yes" }, list: { unsubscribe: { url: "http://example.com", comment: "Leave" } } });
  same("list", signed.message.toString().includes("List-Unsubscribe: <http://example.com> (Leave)"), true);
});
