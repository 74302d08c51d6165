// @sinclair/typebox: schemas, values and the compiler.
import { Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { Value } from "@sinclair/typebox/value";
import { program } from "../program.js";

export default program((same) => {
  const schema = Type.Object({ x: Type.Number({ minimum: 0 }), y: Type.Optional(Type.String()), z: Type.Array(Type.Union([Type.Literal("a"), Type.Literal("b")]), { default: ["a"] }) });
  const compiled = TypeCompiler.Compile(schema);
  same("check", [compiled.Check({ x: 1, z: ["a"] }), compiled.Check({ x: -1, z: ["c"] })], [true, false]);
  same("errors", [...compiled.Errors({ x: -1, z: [] })].map((error) => [error.path, error.message]), [["/x", "Expected number to be greater or equal to 0"]]);
  same("default", Value.Default(schema, { x: 1 }), { x: 1, z: ["a"] });
  same("convert", Value.Convert(schema, { x: "3", z: [] }), { x: 3, z: [] });
  same("create", Value.Create(schema), { x: 0, z: ["a"] });
  same("diff", Value.Patch({ a: 1 }, Value.Diff({ a: 1 }, { a: 2, b: 3 })), { a: 2, b: 3 });
});
