// superstruct: structs, coercion, refinement and failures.
import { array, assert, coerce, create, defaulted, is, number, object, optional, refine, size, string, StructError } from "superstruct";
import { program } from "../program.js";

export default program((same) => {
  const Even = refine(number(), "even", (value) => value % 2 === 0 || "not even");
  const Item = object({ id: coerce(Even, string(), parseFloat), title: size(string(), 1, 5), tags: defaulted(array(string()), () => ["new"]), note: optional(string()) });
  same("created", create({ id: "4", title: "abc" }, Item), { id: 4, title: "abc", tags: ["new"] });
  same("is", [is({ id: 4, title: "x", tags: [] }, Item), is({ id: 3, title: "x", tags: [] }, Item)], [true, false]);
  try {
    assert({ id: 3, title: "too long", tags: [] }, Item);
    same("thrown", false, true);
  } catch (error) {
    same("failures", [error instanceof StructError, error.failures().map((it) => [it.path, it.message])], [true, [[["id"], "not even"], [["title"], "Expected a string with a length between `1` and `5` but received one with a length of `8`"]]]);
  }
});
