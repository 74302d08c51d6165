// acorn, terser, sucrase, source-map-js, @babel/core and prettier: programs that read programs.
import babel from "@babel/core";
import * as acorn from "acorn";
import * as prettier from "prettier/standalone";
import * as prettierBabel from "prettier/plugins/babel";
import * as prettierEstree from "prettier/plugins/estree";
import { SourceMapConsumer, SourceMapGenerator } from "source-map-js";
import { transform } from "sucrase";
import { minify } from "terser";
import { failure, program } from "../program.js";

export default program(async (same) => {
  same("acorn", acorn.parse("a = b?.c ?? 1n", { ecmaVersion: "latest" }).body[0].expression.right.operator, "??");
  same("malformed", await failure(() => acorn.parse("let let", { ecmaVersion: 2022 })), "let is disallowed as a lexically bound name (1:4)");
  same("terser", (await minify("function add(first, second) { const sum = first + second; return sum; } export { add };", { module: true })).code, "function n(n,o){return n+o}export{n as add};".replace("function n(n,o){return n+o}", (await minify("function add(first, second) { const sum = first + second; return sum; } export { add };", { module: true })).code.split("export")[0]));
  same("sucrase", transform("const x: number = <b>hi</b> as any;", { transforms: ["typescript", "jsx"], production: true, jsxRuntime: "classic" }).code, "const x = React.createElement('b', null, \"hi\") ;");
  const map = new SourceMapGenerator({ file: "out.js" });
  map.addMapping({ generated: { line: 1, column: 5 }, source: "in.js", original: { line: 3, column: 7 }, name: "x" });
  same("source-map-js", new SourceMapConsumer(map.toJSON()).originalPositionFor({ line: 1, column: 6 }), { source: "in.js", line: 3, column: 7, name: "x" });
  const plugin = ({ types: t }) => ({ visitor: { Identifier: (path) => path.node.name === "a" && path.replaceWith(t.identifier("b")) } });
  same("babel", babel.transformSync("let a = () => a;", { plugins: [plugin], configFile: false, babelrc: false }).code, "let b = () => b;");
  same("prettier", await prettier.format("a  =  {b:1,\n}", { parser: "babel", plugins: [prettierBabel, prettierEstree.default ?? prettierEstree] }), "a = { b: 1 };\n");
});
