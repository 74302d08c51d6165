// pino: levels, children, serializers, redaction, to a stream of its own.
import { Writable } from "node:stream";
import pino from "pino";
import { program } from "../program.js";

export default program((same) => {
  const lines = [];
  const stream = { write: (line) => lines.push(JSON.parse(line)) };
  const log = pino({ base: null, timestamp: false, redact: ["user.password"], serializers: { err: pino.stdSerializers.err } }, stream);
  log.info({ user: { name: "Ada", password: "x" } }, "hello %s", "you");
  log.debug("hidden");
  log.child({ part: "a" }).error(new TypeError("broken"));
  same("line", lines[0], { level: 30, user: { name: "Ada", password: "[Redacted]" }, msg: "hello you" });
  same("error", [lines[1].part, lines[1].err.type, lines[1].msg, lines.length], ["a", "TypeError", "broken", 2]);
  let written = "";
  const sink = new Writable({ write: (chunk, _, done) => ((written += chunk), done()) });
  pino({ level: "trace", base: undefined, formatters: { level: (label) => ({ level: label }) } }, sink).trace("fine");
  same("formatted", JSON.parse(written).level, "trace");
  same("levels", pino.levels.labels[50], "error");
});
