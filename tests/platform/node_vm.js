// node:vm: https://nodejs.org/api/vm.html
import vm from "node:vm";
import { equal, ok, rejects, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("scripts run in the app's context and come to a value", () => {
  equal(vm.runInThisContext("var fromScript = 5; fromScript * 2"), 10);
  equal(globalThis.fromScript, 5);
  const script = new vm.Script("++fromScript");
  equal(script.runInThisContext() + script.runInThisContext(), 13);
  equal(vm.compileFunction("return a + b", ["a", "b"])(1, 2), 3);
});

test("errors have the name and position that the caller gives", () => {
  const error = throws(() => vm.runInThisContext("\nthrow new Error('x')", { filename: "given.js", lineOffset: 10 }));
  ok(/given\.js:12:7/.test(error.stack), error.stack);
  throws(() => new vm.Script("a b"), { name: "SyntaxError" });
  throws(() => vm.compileFunction("}"), { name: "SyntaxError" });
  throws(() => vm.compileFunction("", ["a b"]), { name: "SyntaxError" });
});

test("a script's name opens no folder of the machine", async () => {
  for (const filename of ["/etc/x.js", "file:///etc/x.js", "/../../etc/x.js", "hearth:main", "node:internal/errors"]) {
    for (const target of ["./passwd", "./hostname", "/etc/passwd", "../../etc/passwd"]) {
      await rejects(vm.runInThisContext(`import(${JSON.stringify(target)})`, { filename }));
      await rejects(vm.compileFunction(`return import(${JSON.stringify(target)})`, [], { filename })());
    }
  }
});

test("contexts are not there, and say what to do", () => {
  for (const name of ["createContext", "runInContext", "runInNewContext"]) {
    throws(() => vm[name]({}), { code: "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM", message: /not available in Hearth: an app has one context/ });
  }
  equal(vm.isContext({}), false);
});
