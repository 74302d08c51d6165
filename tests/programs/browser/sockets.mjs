// WebSockets as clients have them: node sockets.mjs HTTP_URL HTTPS_URL…
//
// The app at each address echoes what it hears. First `ws`, then Chromium, which compresses by itself, and which goes over
// HTTP/2 where it has a connection of that kind already.

import assert from "node:assert/strict";
import { WebSocket } from "ws";
import { look } from "./browser.mjs";

const [plain] = process.argv.slice(2);
const TEXT = "the quick brown fox jumps over the lazy dog \u{1f525} ".repeat(2000);

/** Says everything, and hears it back. Runs here and in the browser. */
async function converse(open, text) {
  const socket = open();
  socket.binaryType = "arraybuffer";
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error("no socket"));
  });
  const { extensions } = socket;
  for (const message of ["short", text, new Uint8Array(300_000).fill(7), ""]) {
    const heard = new Promise((resolve) => (socket.onmessage = ({ data }) => resolve(data)));
    socket.send(message);
    const data = await heard;
    const same = typeof message === "string"
      ? data === message
      : data.byteLength === message.byteLength && new Uint8Array(data).every((byte) => byte === 7);
    if (!same) throw new Error(`heard something else than ${message.length ?? message.byteLength} that were said`);
  }
  const closed = new Promise((resolve) => (socket.onclose = resolve));
  socket.close(1000, "bye");
  const { code, wasClean } = await closed;
  return { extensions, code, wasClean };
}

const address = (url) => url.replace(/^http/, "ws");

for (const perMessageDeflate of [true, false, { serverMaxWindowBits: 10 }, { clientNoContextTakeover: true, threshold: 0 }]) {
  const { extensions, code } = await converse(() => new WebSocket(address(plain), { perMessageDeflate }), TEXT);
  const agreed = extensions !== "";
  assert.equal(agreed, perMessageDeflate !== false && perMessageDeflate.serverMaxWindowBits === undefined, extensions);
  assert.equal(code, 1000);
}
console.log("ws is content");

await look(async (page, url) => {
  // A document from there first, so that there is a connection.
  await page.goto(url);
  const open = `() => new WebSocket(${JSON.stringify(address(url))})`;
  const done = await page.evaluate(`(${converse})(${open}, ${JSON.stringify(TEXT)})`);
  assert.ok(done.extensions.startsWith("permessage-deflate") && done.wasClean && done.code === 1000, JSON.stringify(done));
});
