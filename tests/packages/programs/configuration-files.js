// yaml, js-yaml, toml, smol-toml, ini, json5 and dotenv.
import dotenv from "dotenv";
import ini from "ini";
import * as yaml from "js-yaml";
import JSON5 from "json5";
import * as smol from "smol-toml";
import toml from "toml";
import YAML from "yaml";
import { failure, program } from "../program.js";

const text = "a: &x\n  n: 1\n  list: [1, two, 3.5, null, true]\nb: *x\nc: |\n  two\n  lines\nd: 2024-01-02\n";

export default program(async (same) => {
  same("yaml", YAML.parse(text).b, { n: 1, list: [1, "two", 3.5, null, true] });
  const document = YAML.parseDocument("# note\na: 1 # one\n");
  document.set("b", [2]);
  same("comments", String(document), "# note\na: 1 # one\nb:\n  - 2\n");
  same("js-yaml", [yaml.load(text).c, yaml.load(text).d], ["two\nlines\n", "2024-01-02"]);
  same("dump", yaml.dump({ a: { b: [1, "x: y"] } }), "a:\n  b:\n    - 1\n    - 'x: y'\n");
  same("malformed", (await failure(() => yaml.load("a: [1"))).includes("(2:1)") || (await failure(() => yaml.load("a: [1"))).startsWith("unexpected end"), true);
  const table = 'title = "x"\n[owner]\nat = 1979-05-27T07:32:00Z\n[[items]]\nn = 1\n[[items]]\nn = 2\n';
  same("toml", [toml.parse(table).items, toml.parse(table).owner.at], [[{ n: 1 }, { n: 2 }], "1979-05-27T07:32:00.000Z"]);
  same("smol-toml", [smol.parse(table).items, smol.stringify({ a: { b: [1, 2] } })], [[{ n: 1 }, { n: 2 }], "[a]\nb = [ 1, 2 ]\n"]);
  same("ini", [ini.parse("x=1\n[a.b]\nc[]=1\nc[]=2"), ini.stringify({ s: { k: "v" } })], [{ x: "1", a: { b: { c: ["1", "2"] } } }, "[s]\nk=v\n"]);
  same("json5", JSON5.parse("{a: 'x', /* c */ b: +.5, c: [1,],}"), { a: "x", b: 0.5, c: [1] });
  same("dotenv", dotenv.parse("A=1\n# no\nexport B='two words'\nC=\"l\\nm\""), { A: "1", B: "two words", C: "l\nm" });
});
