// h3: routes, bodies, cookies and errors, as a web handler.
import { createApp, createError, createRouter, defineEventHandler, getCookie, getQuery, readBody, setCookie, toWebHandler } from "h3";
import { program } from "../program.js";

const router = createRouter()
  .get("/users/:id", defineEventHandler((event) => ({ id: event.context.params.id, query: getQuery(event) })))
  .post("/echo", defineEventHandler(async (event) => ({ got: await readBody(event) })))
  .get("/cookie", defineEventHandler((event) => {
    setCookie(event, "seen", "yes", { httpOnly: true });
    return getCookie(event, "name") ?? "none";
  }))
  .get("/teapot", defineEventHandler(() => {
    throw createError({ statusCode: 418, statusMessage: "short and stout" });
  }));
const handle = toWebHandler(createApp().use(router));

export default program(async (same) => {
  const ask = (path, options) => handle(new Request(`http://test${path}`, options));
  same("parameters", await (await ask("/users/7?a=b")).json(), { id: "7", query: { a: "b" } });
  const body = JSON.stringify({ a: [1] });
  same("body", await (await ask("/echo", { method: "POST", body, headers: { "content-type": "application/json" } })).json(), { got: { a: [1] } });
  const cookie = await ask("/cookie", { headers: { cookie: "name=Ada" } });
  same("cookie", [await cookie.text(), cookie.headers.get("set-cookie")], ["Ada", "seen=yes; Path=/; HttpOnly"]);
  const teapot = await ask("/teapot");
  same("error", [teapot.status, (await teapot.json()).statusMessage], [418, "short and stout"]);
  same("missing", (await ask("/none")).status, 404);
});
