// express with cookie-parser, express-session, cors, helmet, compression, morgan and multer.
import compression from "compression";
import cookieParser from "cookie-parser";
import cors from "cors";
import express from "express";
import session from "express-session";
import helmet from "helmet";
import morgan from "morgan";
import multer from "multer";
import { answer } from "../program.js";

const lines = [];
const app = express();
app.use(morgan(":method :url :status", { stream: { write: (line) => lines.push(line.trim()) } }));
app.use(helmet());
app.use(cors({ origin: "https://example.com", credentials: true }));
app.use(compression({ threshold: 0 }));
app.use(cookieParser("secret"));
app.use(session({ secret: "secret", resave: false, saveUninitialized: false }));
app.get("/visits", (request, response) => {
  request.session.visits = (request.session.visits ?? 0) + 1;
  response.json({ visits: request.session.visits });
});
app.get("/signed", (request, response) => response.cookie("name", "Ada", { signed: true }).json(request.signedCookies));
app.post("/upload", multer({ storage: multer.memoryStorage() }).single("file"), (request, response) =>
  response.json({ name: request.file.originalname, size: request.file.size, text: request.file.buffer.toString(), title: request.body.title }),
);
app.get("/big", (request, response) => response.type("text").send("x".repeat(10_000)));
app.get("/", async (request, response) => response.type("text").send(await answer(run, `http://${request.headers.host}`)));
app.listen(process.env.PORT ?? 3000);

async function run(same, origin) {
  const ask = (path, options) => fetch(origin + path, options);
  const first = await ask("/visits");
  const cookie = first.headers.get("set-cookie").split(";")[0];
  same("session", [await first.json(), await (await ask("/visits", { headers: { cookie } })).json()], [{ visits: 1 }, { visits: 2 }]);
  same("helmet", first.headers.get("x-content-type-options"), "nosniff");
  same("cors", first.headers.get("access-control-allow-origin"), "https://example.com");
  const signed = (await ask("/signed")).headers.get("set-cookie").split(";")[0];
  same("signed cookie", await (await ask("/signed", { headers: { cookie: signed } })).json(), { name: "Ada" });
  const forged = signed.replace("Ada", "Bob");
  same("forged cookie", await (await ask("/signed", { headers: { cookie: forged } })).json(), { name: false });
  const form = new FormData();
  form.set("title", "a title");
  form.set("file", new File(["some text"], "a.txt", { type: "text/plain" }));
  const upload = await ask("/upload", { method: "POST", body: form });
  same("upload", await upload.json(), { name: "a.txt", size: 9, text: "some text", title: "a title" });
  const big = await ask("/big", { headers: { "accept-encoding": "gzip" } });
  same("compressed", [big.headers.get("content-encoding"), (await big.text()).length], ["gzip", 10_000]);
  same("log", lines[0], "GET /visits 200");
}
