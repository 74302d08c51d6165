// polka: routes, middleware and errors in a server of its own.
import polka from "polka";
import { answer } from "../program.js";

polka({ onError: (error, request, response) => {
  response.statusCode = error.code ?? 500;
  response.end(`handled: ${error.message}`);
} })
  .use((request, response, next) => {
    request.seen = true;
    next();
  })
  .get("/users/:id", (request, response) => response.end(JSON.stringify({ id: request.params.id, a: request.query.a, seen: request.seen })))
  .get("/fail", (request, response, next) => next(Object.assign(new Error("broken"), { code: 502 })))
  .get("/", async (request, response) => response.end(await answer(run, `http://${request.headers.host}`)))
  .listen(process.env.PORT ?? 3000);

async function run(same, origin) {
  same("route", await (await fetch(`${origin}/users/7?a=b`)).json(), { id: "7", a: "b", seen: true });
  const failed = await fetch(`${origin}/fail`);
  same("error", [failed.status, await failed.text()], [502, "handled: broken"]);
  same("missing", (await fetch(`${origin}/none`)).status, 404);
}
