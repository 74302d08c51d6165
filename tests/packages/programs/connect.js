// connect with body-parser and serve-static behind a plain node:http server.
import { createServer } from "node:http";
import bodyParser from "body-parser";
import connect from "connect";
import serveStatic from "serve-static";
import { answer } from "../program.js";

const app = connect();
app.use(bodyParser.json({ limit: 100 }));
app.use("/echo", (request, response) => response.end(JSON.stringify(request.body)));
app.use("/files", serveStatic(new URL(".", import.meta.url).pathname, { index: false }));
app.use("/", async (request, response, next) => {
  if (request.url !== "/") return next();
  response.end(await answer(run, `http://${request.headers.host}`));
});
app.use((error, request, response, next) => {
  response.statusCode = error.status;
  response.end(error.type);
});
createServer(app).listen(process.env.PORT ?? 3000);

async function run(same, origin) {
  const echo = (body) => fetch(`${origin}/echo`, { method: "POST", body, headers: { "content-type": "application/json" } });
  same("body", await (await echo('{"a":1}')).text(), '{"a":1}');
  const large = await echo(JSON.stringify({ a: "x".repeat(200) }));
  same("too large", [large.status, await large.text()], [413, "entity.too.large"]);
  const file = await fetch(`${origin}/files/connect.js`);
  same("file", [file.headers.get("content-type").split(";")[0], (await file.text()).length > 500], ["text/javascript", true]);
  same("missing", (await fetch(`${origin}/files/none`)).status, 404);
}
