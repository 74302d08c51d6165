// Runs programs in Node, to see that what they expect is so: `npm ci && node node.mjs [NAME...]`.
// With HEARTH=BINARY in the environment they run there. PORT is where they listen.

import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const port = Number(process.env.PORT ?? 8787);
const folder = new URL("programs/", import.meta.url);

if (process.argv[2] === "--serve") await serve(process.argv[3]);
else await all(process.argv.slice(2));

/** Serves one program: what it exports, unless it starts a server of its own. */
async function serve(name) {
  const { default: app } = await import(new URL(`${name}.js`, folder));
  if (typeof app?.fetch !== "function") return;
  const server = createServer(async (request, response) => {
    const url = `http://${request.headers.host}${request.url}`;
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length === 0 ? undefined : Buffer.concat(chunks);
    const reply = await app.fetch(new Request(url, { method: request.method, headers: request.headers, body }));
    response.writeHead(reply.status, Object.fromEntries(reply.headers));
    response.end(Buffer.from(await reply.arrayBuffer()));
  });
  server.listen(port, "127.0.0.1");
}

async function all(names) {
  if (names.length === 0) names = readdirSync(folder).map((file) => file.replace(/\.js$/, ""));
  let failed = 0;
  for (const name of names) {
    const text = await ask(name);
    if (text === "ok") continue;
    failed++;
    console.log(`--- ${name}\n${text}`);
  }
  console.log(`${names.length - failed} of ${names.length} passed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

async function ask(name) {
  const hearth = process.env.HEARTH;
  const file = fileURLToPath(new URL(`${name}.js`, folder));
  const flags = ["--listen", `127.0.0.1:${port}`, "--workers", "1", "--cpu", "60s", "--egress", "all"];
  const [command, parameters] = hearth
    ? [hearth, ["run", file, ...flags]]
    : [process.execPath, [fileURLToPath(import.meta.url), "--serve", name]];
  const environment = { ...process.env, PORT: String(port) };
  const child = spawn(command, parameters, { env: environment, stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (log += data));
  const ended = new Promise((resolve) => child.on("exit", resolve));
  let text;
  for (let tries = 0; text === undefined && child.exitCode === null && tries < 600; tries++) {
    try {
      text = await (await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(30_000) })).text();
    } catch (error) {
      if (error.name === "TimeoutError") break;
      await sleep(50);
    }
  }
  child.kill("SIGKILL");
  await ended;
  return text === "ok" ? text : `${text ?? "no answer"}\n${log.slice(-3000)}`;
}
