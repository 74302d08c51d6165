// ms, semver, chalk, picomatch, minimatch, micromatch, jsonpath-plus and fast-json-stringify.
import { Chalk } from "chalk";
import fastJson from "fast-json-stringify";
import { JSONPath } from "jsonpath-plus";
import micromatch from "micromatch";
import { minimatch } from "minimatch";
import ms from "ms";
import picomatch from "picomatch";
import semver from "semver";
import { program } from "../program.js";

export default program((same) => {
  same("ms", [ms("2 days"), ms(60_000), ms(90_000, { long: true })], [172_800_000, "1m", "2 minutes"]);
  same("semver", [semver.satisfies("1.2.3", "^1.2 || >=3"), semver.inc("1.2.3", "minor"), semver.maxSatisfying(["1.0.0", "1.5.0", "2.0.0"], "1.x"), semver.sort(["1.0.0", "1.0.0-rc.1"])[0], semver.coerce("v3.4").version], [true, "1.3.0", "1.5.0", "1.0.0-rc.1", "3.4.0"]);
  same("chalk", new Chalk({ level: 1 }).red.bold("x"), "\u001b[31m\u001b[1mx\u001b[22m\u001b[39m");
  same("picomatch", [picomatch("**/*.{js,ts}")("a/b.ts"), picomatch("!(a)")("a")], [true, false]);
  same("minimatch", [minimatch("a/b/c.js", "a/**/*.js"), minimatch.filter("*.js")("x.ts")], [true, false]);
  same("micromatch", [micromatch(["a.js", "b.ts", "c.js"], ["*.js", "!c*"]), micromatch.braces("{1..3}", { expand: true })], [["a.js"], ["1", "2", "3"]]);
  same("jsonpath-plus", JSONPath({ path: "$.books[?(@.price < 10)].title", json: { books: [{ title: "a", price: 5 }, { title: "b", price: 15 }] } }), ["a"]);
  const stringify = fastJson({ type: "object", properties: { a: { type: "string" }, n: { type: "array", items: { type: "integer" } } } });
  same("fast-json-stringify", stringify({ a: 'x"', n: [1, 2.7], ignored: 1 }), '{"a":"x\\"","n":[1,2]}');
});
