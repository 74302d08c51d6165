// express: middleware, routers, parameters, bodies, errors and static files, asked by itself.
import express from "express";
import { answer } from "../program.js";

const app = express();
app.use(express.json());
app.use(express.urlencoded({ extended: true }));
app.use((request, response, next) => {
  response.locals.start = "set";
  next();
});
const users = express.Router({ mergeParams: true });
users.get("/:id", (request, response) => response.json({ id: request.params.id, query: request.query, locals: response.locals.start }));
app.use("/users", users);
app.post("/echo", (request, response) => response.status(201).json({ body: request.body, type: request.is("json") }));
app.get("/moved", (request, response) => response.redirect("/users/1"));
app.get("/type", (request, response) => response.format({ "text/plain": () => response.send("plain"), "application/json": () => response.json("json") }));
app.get("/cookie", (request, response) => response.cookie("a", "b c", { httpOnly: true }).send("set"));
app.get("/fail", async () => {
  throw Object.assign(new Error("broken"), { status: 418 });
});
app.use("/static", express.static(new URL(".", import.meta.url).pathname));
app.get("/", async (request, response) => response.type("text").send(await answer(run, `http://${request.headers.host}`)));
app.use((error, request, response, next) => response.status(error.status ?? 500).send(`handled: ${error.message}`));
app.listen(process.env.PORT ?? 3000);

async function run(same, origin) {
  const ask = (path, options) => fetch(origin + path, options);
  const user = await ask("/users/7?a[b]=c&d=1");
  same("parameters", await user.json(), { id: "7", query: { "a[b]": "c", d: "1" }, locals: "set" });
  same("headers", [user.headers.get("x-powered-by"), user.headers.get("content-type")], ["Express", "application/json; charset=utf-8"]);
  const echo = async (type, body) => {
    const reply = await ask("/echo", { method: "POST", body, headers: { "content-type": type } });
    return [reply.status, await reply.json()];
  };
  same("json", await echo("application/json", '{"a":[1]}'), [201, { body: { a: [1] }, type: "json" }]);
  same("form", await echo("application/x-www-form-urlencoded", "a[b]=1"), [201, { body: { a: { b: "1" } }, type: false }]);
  const moved = await ask("/moved", { redirect: "manual" });
  same("redirect", [moved.status, moved.headers.get("location")], [302, "/users/1"]);
  same("format", await (await ask("/type", { headers: { accept: "application/json" } })).text(), '"json"');
  same("cookie", (await ask("/cookie")).headers.get("set-cookie"), "a=b%20c; Path=/; HttpOnly");
  const failed = await ask("/fail");
  same("error", [failed.status, await failed.text()], [418, "handled: broken"]);
  const file = await ask("/static/express.js");
  same("static", [file.status, (await file.text()).startsWith("// express:")], [200, true]);
  const etag = file.headers.get("etag");
  same("not modified", (await ask("/static/express.js", { headers: { "if-none-match": etag, "cache-control": "max-age=0" } })).status, 304);
  const part = await ask("/static/express.js", { headers: { range: "bytes=3-9" } });
  same("range", [part.status, await part.text()], [206, "express"]);
  same("missing", (await ask("/none")).status, 404);
}
