// fastify: schemas, hooks, plugins, errors, injection and a listening server.
import Fastify from "fastify";
import { answer } from "../program.js";

const app = Fastify({ logger: false });
app.decorate("greeting", "hello");
app.addHook("onSend", async (request, reply) => {
  reply.header("x-hook", "ran");
});
app.register(async (scope) => {
  scope.get("/hi/:name", async (request) => ({ text: `${scope.greeting} ${request.params.name}`, ignored: 1 }));
}, { prefix: "/v1" });
app.post("/items", {
  schema: {
    body: { type: "object", required: ["count"], properties: { count: { type: "integer", minimum: 1 } } },
    response: { 201: { type: "object", properties: { doubled: { type: "integer" } } } },
  },
}, async (request, reply) => reply.code(201).send({ doubled: request.body.count * 2, hidden: true }));
app.get("/fail", async () => {
  throw Object.assign(new Error("broken"), { statusCode: 409 });
});
app.get("/", async (request, reply) => reply.type("text/plain").send(await answer(run, `http://${request.headers.host}`)));
app.listen({ port: Number(process.env.PORT ?? 3000), host: "127.0.0.1" });

async function run(same, origin) {
  const hi = await fetch(`${origin}/v1/hi/Ada`);
  same("plugin", [await hi.json(), hi.headers.get("x-hook")], [{ text: "hello Ada", ignored: 1 }, "ran"]);
  const post = async (body) => {
    const reply = await fetch(`${origin}/items`, { method: "POST", body, headers: { "content-type": "application/json" } });
    return [reply.status, await reply.json()];
  };
  same("schema", await post('{"count":"4"}'), [201, { doubled: 8 }]);
  const [status, refused] = await post('{"count":0}');
  same("refused", [status, refused.message], [400, "body/count must be >= 1"]);
  same("malformed", (await post("{"))[0], 400);
  const failed = await fetch(`${origin}/fail`);
  same("error", [failed.status, await failed.json()], [409, { statusCode: 409, error: "Conflict", message: "broken" }]);
  const missing = await fetch(`${origin}/none`);
  same("missing", [missing.status, (await missing.json()).message], [404, "Route GET:/none not found"]);
  const injected = await app.inject({ method: "GET", url: "/v1/hi/Bo" });
  same("injected", [injected.statusCode, injected.json().text], [200, "hello Bo"]);
}
