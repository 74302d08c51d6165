// import.meta as Node has it (https://nodejs.org/api/esm.html#importmeta): paths begin at the app's folder.
import { equal, test, throws } from "./harness.js";
export { default } from "./harness.js";

test("a module knows where it is", () => {
  equal(import.meta.url, "file:///import_meta.js");
  equal(import.meta.filename, "/import_meta.js");
  equal(import.meta.dirname, "/");
  equal(import.meta.main, true);
});

test("resolve finds modules and says why it does not", () => {
  equal(import.meta.resolve("./harness.js"), "file:///harness.js");
  equal(import.meta.resolve("node:async_hooks"), "node:async_hooks");
  equal(import.meta.resolve("async_hooks"), "node:async_hooks");
  throws(() => import.meta.resolve("no-such-package"), /npm install no-such-package/);
  throws(() => import.meta.resolve("../../etc/passwd"), /outside/);
  throws(() => import.meta.resolve({ toString() { throw new Error("not asked"); } }), { name: "TypeError" });
});
