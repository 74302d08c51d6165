// hono: middleware, validation, JWT, basic auth, CORS, ETag and its RPC client against itself.
import { Hono } from "hono";
import { basicAuth } from "hono/basic-auth";
import { hc } from "hono/client";
import { cors } from "hono/cors";
import { etag } from "hono/etag";
import { jwt, sign } from "hono/jwt";
import { secureHeaders } from "hono/secure-headers";
import { validator } from "hono/validator";
import { program } from "../program.js";

const app = new Hono()
  .use("/open/*", cors({ origin: "https://example.com" }))
  .use("/open/*", secureHeaders())
  .use("/tag", etag())
  .use("/basic/*", basicAuth({ username: "ada", password: "secret" }))
  .use("/jwt/*", jwt({ secret: "key", alg: "HS256" }))
  .get("/open/x", (c) => c.text("open"))
  .get("/tag", (c) => c.text("tagged"))
  .get("/basic/x", (c) => c.text("in"))
  .get("/jwt/me", (c) => c.json(c.get("jwtPayload")))
  .post("/items", validator("json", (value, c) => (value.name ? value : c.text("no name", 400))), (c) =>
    c.json({ made: c.req.valid("json").name }, 201),
  );

export default program(
  async (same, origin) => {
    const open = await app.request("/open/x", { headers: { origin: "https://example.com" } });
    same("cors", open.headers.get("access-control-allow-origin"), "https://example.com");
    same("secure", open.headers.get("x-content-type-options"), "nosniff");
    const tagged = await app.request("/tag");
    const again = await app.request("/tag", { headers: { "if-none-match": tagged.headers.get("etag") } });
    same("etag", [tagged.status, again.status], [200, 304]);
    same("basic", (await app.request("/basic/x")).status, 401);
    const authorization = `Basic ${btoa("ada:secret")}`;
    same("basic in", await (await app.request("/basic/x", { headers: { authorization } })).text(), "in");
    const token = await sign({ sub: "7" }, "key", "HS256");
    const me = await app.request("/jwt/me", { headers: { authorization: `Bearer ${token}` } });
    same("jwt", await me.json(), { sub: "7" });
    same("no jwt", (await app.request("/jwt/me")).status, 401);
    const client = hc(origin);
    const made = await client.items.$post({ json: { name: "x" } });
    same("client", [made.status, await made.json()], [201, { made: "x" }]);
    same("validated", (await client.items.$post({ json: {} })).status, 400);
  },
  (request) => app.fetch(request),
);
