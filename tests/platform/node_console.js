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
