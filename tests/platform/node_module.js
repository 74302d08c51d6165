// node:module: https://nodejs.org/api/module.html
import module, { builtinModules, createRequire, isBuiltin } from "node:module";
import { equal, ok, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("createRequire requires what an import would", () => {
  const require = createRequire(import.meta.url);
  equal(require("node:buffer").Buffer, Buffer);
  equal(require("util"), require("node:util"));
  equal(typeof require("./harness.js").test, "function");
  equal(require.resolve("util"), "util");
  ok(/harness\.js$/.test(require.resolve("./harness.js")));
  throws(() => require("no-such-package"), { code: "MODULE_NOT_FOUND" });
  throws(() => require(5), { code: "ERR_INVALID_ARG_TYPE" });
  throws(() => createRequire("relative"), { code: "ERR_INVALID_ARG_VALUE" });
});

test("nothing outside of the app's folder is required, wherever the caller claims to be", () => {
  for (const place of ["/etc/x.js", "file:///etc/x.js", "/../../etc/x.js", "/..%2f..%2fetc/x.js", "/proc/self/x.js"]) {
    for (const target of ["./passwd", "./hostname", "../etc/passwd", "/etc/passwd", "../../../../../../etc/passwd", "./environ"]) {
      throws(() => createRequire(place)(target), {});
      throws(() => createRequire(place).resolve(target), {});
    }
  }
});

test("names of built-in modules", () => {
  ok(builtinModules.includes("util") && !builtinModules.includes("internal/errors"));
  ok(isBuiltin("node:util") && isBuiltin("util") && !isBuiltin("express"));
  equal(module.Module, module);
  throws(() => module.register("./x.js"), { message: /module\.register is not available in Hearth/ });
});

test("the folders in which a specifier is sought", () => {
  same(module._resolveLookupPaths("./a", null), ["."]);
  same(module._resolveLookupPaths("./a", { filename: "/b/c.js" }), ["/b"]);
  same(module._resolveLookupPaths("a", { filename: "/b/c.js" }), ["/b/node_modules", "/node_modules"]);
  equal(module._resolveLookupPaths("fs"), null);
  throws(() => module.setSourceMapsSupport(true, { nodeModules: 1 }), { code: "ERR_INVALID_ARG_TYPE" });
});
