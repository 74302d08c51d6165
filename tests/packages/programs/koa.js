// koa with @koa/router and koa-bodyparser: context, errors, cookies and streams.
import { Readable } from "node:stream";
import Router from "@koa/router";
import Koa from "koa";
import bodyParser from "koa-bodyparser";
import { answer } from "../program.js";

const app = new Koa({ keys: ["secret"] });
const router = new Router({ prefix: "/api" });
router.get("/users/:id", (ctx) => (ctx.body = { id: ctx.params.id, query: ctx.query }));
router.post("/echo", (ctx) => {
  ctx.status = 201;
  ctx.body = ctx.request.body;
});
router.get("/stream", (ctx) => {
  ctx.type = "text/plain";
  ctx.body = Readable.from(["a", "b", "c"]);
});
router.get("/cookie", (ctx) => {
  ctx.cookies.set("name", "Ada", { signed: true });
  ctx.body = "set";
});
router.get("/fail", (ctx) => ctx.throw(403, "keep out"));
app.use(async (ctx, next) => {
  await next();
  ctx.set("x-after", "yes");
});
app.use(bodyParser());
app.use(router.routes()).use(router.allowedMethods());
app.use(async (ctx) => {
  if (ctx.path === "/") ctx.body = await answer(run, `http://${ctx.host}`);
});
app.listen(process.env.PORT ?? 3000);

async function run(same, origin) {
  const ask = (path, options) => fetch(`${origin}/api${path}`, options);
  const user = await ask("/users/7?a=1&a=2");
  same("parameters", [await user.json(), user.headers.get("x-after")], [{ id: "7", query: { a: ["1", "2"] } }, "yes"]);
  const made = await ask("/echo", { method: "POST", body: "a=1&b=2", headers: { "content-type": "application/x-www-form-urlencoded" } });
  same("body", [made.status, await made.json()], [201, { a: "1", b: "2" }]);
  same("stream", await (await ask("/stream")).text(), "abc");
  const cookies = (await ask("/cookie")).headers.getSetCookie();
  same("cookies", [cookies.length, cookies[0], cookies[1].startsWith("name.sig=")], [2, "name=Ada; path=/; httponly", true]);
  const failed = await ask("/fail");
  same("error", [failed.status, await failed.text()], [403, "keep out"]);
  same("method", (await ask("/users/7", { method: "DELETE" })).status, 405);
  same("missing", (await ask("/none")).status, 404);
}
