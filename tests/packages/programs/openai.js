// openai: completions, streams and errors against a mock of its own.
import OpenAI from "openai";
import { program } from "../program.js";

export default program(
  async (same, origin) => {
    const client = new OpenAI({ apiKey: "key", baseURL: `${origin}/v1`, maxRetries: 0 });
    const made = await client.chat.completions.create({ model: "m", messages: [{ role: "user", content: "hi" }] });
    same("completion", made.choices[0].message.content, "m says hi");
    let streamed = "";
    const stream = await client.chat.completions.create({ model: "m", stream: true, messages: [{ role: "user", content: "abc" }] });
    for await (const part of stream) streamed += part.choices[0].delta.content ?? "";
    same("stream", streamed, "abc");
    const failed = await client.models.list().catch((error) => error);
    same("error", [failed instanceof OpenAI.AuthenticationError, failed.status], [true, 401]);
    const file = await client.files.create({ file: new File(["{}"], "a.jsonl"), purpose: "batch" });
    same("upload", file.filename, "a.jsonl");
  },
  async (request, url) => {
    if (url.pathname === "/v1/files") return Response.json({ filename: (await request.formData()).get("file").name });
    if (url.pathname !== "/v1/chat/completions") return Response.json({ error: { message: "no" } }, { status: 401 });
    const { model, messages, stream } = await request.json();
    const { content } = messages[0];
    if (!stream) return Response.json({ choices: [{ message: { role: "assistant", content: `${model} says ${content}` } }] });
    const events = [...content].map((letter) => `data: ${JSON.stringify({ choices: [{ delta: { content: letter } }] })}\n\n`);
    return new Response([...events, "data: [DONE]\n\n"].join(""), { headers: { "content-type": "text/event-stream" } });
  },
);
