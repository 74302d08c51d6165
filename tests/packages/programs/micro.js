// micro: a handler with its body helpers behind node:http.
import { createServer } from "node:http";
import * as micro from "micro";
import { answer } from "../program.js";

const { createError, json, send, serve } = micro.default ?? micro;
createServer(serve(async (request, response) => {
  if (request.url === "/") return answer(run, `http://${request.headers.host}`);
  if (request.url === "/json") return { got: await json(request) };
  if (request.url === "/send") return send(response, 202, { a: 1 });
  throw createError(429, "slow down");
})).listen(process.env.PORT ?? 3000);

async function run(same, origin) {
  same("json", await (await fetch(`${origin}/json`, { method: "POST", body: "[1]" })).json(), { got: [1] });
  same("malformed", (await fetch(`${origin}/json`, { method: "POST", body: "[1" })).status, 400);
  same("send", (await fetch(`${origin}/send`)).status, 202);
  const failed = await fetch(`${origin}/none`);
  same("error", [failed.status, await failed.text()], [429, "slow down"]);
}
