// node:path (https://nodejs.org/api/path.html).

import path, { posix, win32 } from "node:path";
import { equal, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("the module is posix, and has both kinds", () => {
  equal(path, posix);
  equal(path.win32, win32);
  equal(path.sep + path.delimiter, "/:");
});

test("posix paths", () => {
  equal(posix.join("/a", "..", "b", "./c", ""), "/b/c");
  equal(posix.join(""), ".");
  equal(posix.normalize("a//b/../../../c/"), "../c/");
  equal(posix.resolve("/a", "b", "../c"), "/a/c");
  equal(posix.resolve("b"), "/b");
  equal(posix.relative("/a/b/c", "/a/d"), "../../d");
  equal(posix.dirname("/a/b/"), "/a");
  equal(posix.dirname("a"), ".");
  equal(posix.basename("/a/b.js", ".js"), "b");
  equal(posix.extname(".bashrc") + posix.extname("a.tar.gz"), ".gz");
  same(posix.parse("/a/b.js"), { root: "/", dir: "/a", base: "b.js", ext: ".js", name: "b" });
  equal(posix.format({ dir: "/a", name: "b", ext: "js" }), "/a/b.js");
  equal(posix.isAbsolute("/a") && !posix.isAbsolute("a"), true);
});

test("windows paths", () => {
  equal(win32.join("C:\\a", "../b"), "C:\\b");
  equal(win32.normalize("C:/a//b/.."), "C:\\a");
  equal(win32.resolve("C:\\a", "..\\b"), "C:\\b");
  equal(win32.dirname("C:\\a\\b"), "C:\\a");
  equal(win32.basename("C:\\a\\b.txt", ".txt"), "b");
  equal(win32.isAbsolute("\\\\host\\share"), true);
  equal(win32.relative("C:\\a\\b", "C:\\a\\c"), "..\\c");
});

test("globs match segments", () => {
  equal(posix.matchesGlob("/a/b/c.js", "/a/**/*.{js,ts}"), true);
  equal(posix.matchesGlob("a/b.js", "*.js"), false);
  throws(() => posix.matchesGlob("a", "{a,b}".repeat(12)), { name: "RangeError" });
});

test("arguments are checked", () => {
  throws(() => path.join(1), { code: "ERR_INVALID_ARG_TYPE" });
});
