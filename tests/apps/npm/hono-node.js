import { serve } from "@hono/node-server";
import { Hono } from "hono";

const app = new Hono();
app.get("/", (c) => c.text("Hello Hono on Node!"));
app.post("/echo", async (c) => c.json(await c.req.json(), 201));
serve({ fetch: app.fetch, port: 3000 });
