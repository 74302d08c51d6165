import { Hono } from "hono";
import { setCookie } from "hono/cookie";
import { html } from "hono/html";
import { poweredBy } from "hono/powered-by";
import { streamSSE, streamText } from "hono/streaming";
import { validator } from "hono/validator";

const app = new Hono<{ Bindings: { NAME: string } }>();

app.use(poweredBy());
app.get("/", (c) => c.text("Hello Hono!"));
app.get("/users/:id", (c) => c.json({ id: c.req.param("id"), full: c.req.query("full"), env: c.env.NAME }));
app.post(
  "/echo",
  validator("json", (value, c) => (value.name.length > 2 ? value : c.text("the name is too short", 400))),
  (c) => c.json(c.req.valid("json")),
);
app.get("/throw", () => {
  throw new Error("thrown");
});
app.get("/cookie", (c) => {
  setCookie(c, "visited", "yes", { httpOnly: true });
  return c.text("set");
});
app.get("/page", (c) => c.html(html`<!DOCTYPE html><p>Hello ${"<you>"}</p>`));
app.get("/stream", (c) => streamText(c, async (stream) => {
  for (let i = 0; i < 4; i++) {
    await stream.write(`${i}`);
    await stream.sleep(1);
  }
}));
app.get("/events", (c) => streamSSE(c, async (stream) => {
  for (let i = 0; i < 2; i++) await stream.writeSSE({ event: "tick", data: `${i}`, id: `${i}` });
}));
app.notFound((c) => c.text("not here", 404));
app.onError((error, c) => c.text(`handled: ${error.message}`, 500));

export default app;
