// ai with @ai-sdk/openai: text, tools and streams against a mock of its own.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText, tool } from "ai";
import { z } from "zod";
import { program } from "../program.js";

export default program(
  async (same, origin) => {
    const model = createOpenAI({ apiKey: "key", baseURL: origin }).chat("m");
    const { text, usage } = await generateText({ model, prompt: "hi" });
    same("text", [text, usage.totalTokens], ["you said hi", 3]);
    const weather = tool({ inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => `sunny in ${city}` });
    const called = await generateText({ model, prompt: "weather", tools: { weather } });
    same("tool", called.toolResults[0].output, "sunny in Rome");
    const streamed = streamText({ model, prompt: "abc" });
    let all = "";
    for await (const part of streamed.textStream) all += part;
    same("stream", [all, await streamed.finishReason], ["abc", "stop"]);
  },
  async (request) => {
    const { messages, stream } = await request.json();
    const { content } = messages.at(-1);
    const said = typeof content === "string" ? content : content[0].text;
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    const head = { id: "1", created: 1, model: "m" };
    if (said === "weather") {
      const call = { id: "c", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } };
      return Response.json({ ...head, choices: [{ index: 0, finish_reason: "tool_calls", message: { role: "assistant", content: null, tool_calls: [call] } }], usage });
    }
    if (!stream) return Response.json({ ...head, choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: `you said ${said}` } }], usage });
    const parts = [...said].map((letter) => ({ ...head, choices: [{ index: 0, delta: { content: letter } }] }));
    parts.push({ ...head, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    return new Response(`${parts.map((part) => `data: ${JSON.stringify(part)}\n\n`).join("")}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
  },
);
