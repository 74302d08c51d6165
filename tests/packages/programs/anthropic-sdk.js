// @anthropic-ai/sdk: messages, streams and errors against a mock of its own.
import Anthropic from "@anthropic-ai/sdk";
import { program } from "../program.js";

export default program(
  async (same, origin) => {
    const client = new Anthropic({ apiKey: "key", baseURL: origin, maxRetries: 0 });
    const ask = { model: "m", max_tokens: 10, messages: [{ role: "user", content: "hi" }] };
    same("message", (await client.messages.create(ask)).content[0].text, "hi from key");
    const final = await client.messages.stream({ ...ask, messages: [{ role: "user", content: "abc" }] }).finalMessage();
    same("stream", [final.content[0].text, final.stop_reason], ["abc", "end_turn"]);
    const failed = await client.messages.create({ ...ask, max_tokens: 0 }).catch((error) => error);
    same("error", [failed instanceof Anthropic.RateLimitError, failed.status], [true, 429]);
  },
  async (request) => {
    const { messages, max_tokens, stream } = await request.json();
    const text = messages[0].content;
    if (max_tokens === 0) return Response.json({ type: "error", error: { type: "rate_limit_error", message: "slow" } }, { status: 429 });
    const message = { id: "1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } };
    if (!stream) return Response.json({ ...message, content: [{ type: "text", text: `${text} from ${request.headers.get("x-api-key")}` }] });
    const events = [
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      ...[...text].map((letter) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: letter } })),
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 } },
      { type: "message_stop" },
    ];
    return new Response(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""), { headers: { "content-type": "text/event-stream" } });
  },
);
