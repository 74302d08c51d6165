// router, with csrf: express's routes on a plain node:http server.
import { createServer } from "node:http";
import Tokens from "csrf";
import finalhandler from "finalhandler";
import Router from "router";
import { answer } from "../program.js";

const tokens = new Tokens();
const secret = tokens.secretSync();
const router = Router();
router.param("id", (request, response, next, id) => {
  request.number = Number(id);
  next();
});
router.get("/users/:id", (request, response) => response.end(String(request.number + 1)));
router.route("/token").get((request, response) => response.end(tokens.create(secret)));
router.get("/", async (request, response) => response.end(await answer(run, `http://${request.headers.host}`)));
createServer((request, response) => router(request, response, finalhandler(request, response))).listen(process.env.PORT ?? 3000);

async function run(same, origin) {
  const ask = async (path, method = "GET") => {
    const reply = await fetch(origin + path, { method });
    return [reply.status, await reply.text()];
  };
  same("parameter", await ask("/users/41"), [200, "42"]);
  same("missing", (await ask("/none"))[0], 404);
  same("options", (await fetch(`${origin}/token`, { method: "OPTIONS" })).headers.get("allow"), "GET, HEAD");
  const [, token] = await ask("/token");
  same("token", [tokens.verify(secret, token), tokens.verify(secret, `${token}x`)], [true, false]);
}
