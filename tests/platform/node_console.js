// node:console: https://nodejs.org/api/console.html
import console, { Console } from "node:console";
import { equal, ok, test, throws } from "./harness.js";

export { default } from "./harness.js";

function recorded(options = {}) {
  const lines = { out: "", err: "" };
  const stream = (name) => ({ write(text) { lines[name] += text; } });
  return [new Console({ stdout: stream("out"), stderr: stream("err"), ...options }), lines];
}

test("Console writes to its streams", () => {
  const [made, lines] = recorded();
  made.log("%s", "a", { b: 1 });
  made.error("bad");
  made.group("g");
  made.info("in\nside");
  made.groupEnd();
  made.count();
  made.count();
  made.assert(false, "no %d", 1);
  equal(lines.out, "a { b: 1 }\ng\n  in\n  side\ndefault: 1\ndefault: 2\n");
  equal(lines.err, "bad\nAssertion failed: no 1\n");
  const { log } = made;
  log("alone");
  ok(lines.out.endsWith("alone\n"));
});

test("tables", () => {
  const [made, lines] = recorded();
  made.table([{ a: 1, b: "x" }, { a: 2 }]);
  equal(lines.out, [
    "\u250c\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u252c\u2500\u2500\u2500\u252c\u2500\u2500\u2500\u2500\u2500\u2510",
    "\u2502 (index) \u2502 a \u2502 b   \u2502",
    "\u251c\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u253c\u2500\u2500\u2500\u253c\u2500\u2500\u2500\u2500\u2500\u2524",
    "\u2502 0       \u2502 1 \u2502 'x' \u2502", "\u2502 1       \u2502 2 \u2502     \u2502",
    "\u2514\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2534\u2500\u2500\u2500\u2534\u2500\u2500\u2500\u2500\u2500\u2518", "",
  ].join("\n"));
});

test("the module is the global console with the class", () => {
  ok(globalThis.console instanceof Console && typeof console.log === "function");
  throws(() => new Console({}), { code: "ERR_CONSOLE_WRITABLE_STREAM" });
});

test("the global console is the module, and writes where process.stdout was replaced", () => {
  ok(console === globalThis.console && globalThis.console.Console === Console);
  const { write } = process.stdout;
  const { log } = globalThis.console;
  let text = "";
  process.stdout.write = (chunk) => { text += chunk; return true; };
  try {
    console.log("to %s", "stdout");
    console.group();
    console.count("calls");
    console.groupEnd();
    console.info({ a: 1 });
  } finally {
    process.stdout.write = write;
  }
  equal(text, "to stdout\n  calls: 1\n{ a: 1 }\n");
  // What the app took before writes to the log still.
  ok(log !== console.log);
  log("as before");
});

test("a method that the app has replaced stays", () => {
  const mine = () => {};
  const before = console.debug;
  console.debug = mine;
  process.stderr.isTTY = false;
  equal(console.debug, mine);
  console.debug = before;
});

test("streams that fail do not end the app, and RangeErrors of the stack come through", async () => {
  const { Writable } = await import("node:stream");
  for (const fail of [(callback) => callback(new Error("now")), (callback) => queueMicrotask(() => callback(new Error("later")))]) {
    const broken = new Writable({ write(chunk, encoding, callback) { fail(callback); } });
    new Console(broken).log("lost");
  }
  await new Promise((resolve) => setTimeout(resolve));
  const endless = { write() { return endless.write(); } };
  throws(() => new Console(endless).log("x"), { name: "RangeError" });
});

test("channels see what is to be logged", async () => {
  const { subscribe, unsubscribe } = await import("node:diagnostics_channel");
  const [made, lines] = recorded();
  const seen = (args) => args.push("more");
  subscribe("console.info", seen);
  made.info("text");
  unsubscribe("console.info", seen);
  equal(lines.out, "text more\n");
});
