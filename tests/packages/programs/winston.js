// winston: formats, transports, children and levels.
import { Writable } from "node:stream";
import winston from "winston";
import { program } from "../program.js";

export default program(async (same) => {
  let written = "";
  const stream = new Writable({ write: (chunk, _, done) => ((written += chunk), done()) });
  const { combine, errors, json, label, printf, splat } = winston.format;
  const log = winston.createLogger({ level: "info", format: combine(label({ label: "app" }), splat(), errors({ stack: false }), printf(({ level, message, label, part }) => `${label} ${level}: ${message}${part ? ` (${part})` : ""}`)), transports: [new winston.transports.Stream({ stream })] });
  log.info("hello %s", "you");
  log.debug("hidden");
  log.child({ part: "a" }).warn("careful");
  await new Promise((resolve) => log.on("finish", resolve).end());
  same("lines", written.trim().split(/\r?\n/), ["app info: hello you", "app warn: careful (a)"]);
  same("json", json().transform({ level: "info", message: "m" }, {})[Symbol.for("message")], '{"level":"info","message":"m"}');
});
