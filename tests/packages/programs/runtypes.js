// runtypes: checks, unions and constraints.
import { Array, Literal, Number, Object, String, Union } from "runtypes";
import { program } from "../program.js";

export default program((same) => {
  const Positive = Number.withConstraint((n) => n > 0 || "not positive");
  const Item = Object({ kind: Union(Literal("a"), Literal("b")), size: Positive, names: Array(String) });
  same("guard", [Item.guard({ kind: "a", size: 1, names: [] }), Item.guard({ kind: "c", size: 1, names: [] })], [true, false]);
  const result = Item.inspect({ kind: "a", size: -1, names: [1] });
  same("details", [result.success, globalThis.Object.keys(result.details)], [false, ["size", "names"]]);
  same("match", Union(Literal(1), String).match((n) => n + 1, (text) => text.length)("abc"), 3);
});
