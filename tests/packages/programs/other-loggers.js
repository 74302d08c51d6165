// debug, loglevel, bunyan and morgan's formats.
import { format } from "node:util";
import bunyan from "bunyan";
import createDebug from "debug";
import log from "loglevel";
import { program } from "../program.js";

export default program((same) => {
  const lines = [];
  createDebug.enable("app:*,-app:quiet");
  createDebug.log = (...parts) => lines.push(format(...parts));
  createDebug("app:loud")("got %d of %j", 1, { a: 2 });
  createDebug("app:quiet")("hidden");
  same("debug", [lines.length, lines[0].includes('got 1 of {"a":2}'), createDebug.enabled("app:x")], [1, true, true]);
  const said = [];
  log.methodFactory = (name) => (...parts) => said.push([name, ...parts]);
  log.setLevel("warn");
  log.info("hidden");
  log.warn("careful");
  same("loglevel", said, [["warn", "careful"]]);
  const ring = new bunyan.RingBuffer({ limit: 5 });
  const logger = bunyan.createLogger({ name: "app", streams: [{ type: "raw", stream: ring, level: "debug" }], serializers: bunyan.stdSerializers });
  logger.child({ part: "a" }).debug({ err: new Error("broken") }, "it %s", "failed");
  const [record] = ring.records;
  same("bunyan", [record.name, record.part, record.level, record.msg, record.err.message], ["app", "a", 20, "it failed", "broken"]);
});
