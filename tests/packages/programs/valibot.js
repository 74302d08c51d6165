// valibot: pipelines, variants and flattened errors.
import * as v from "valibot";
import { failure, program } from "../program.js";

export default program(async (same) => {
  const schema = v.object({
    email: v.pipe(v.string(), v.trim(), v.email()),
    age: v.optional(v.pipe(v.unknown(), v.transform(Number), v.integer(), v.minValue(18)), "20"),
    tags: v.pipe(v.array(v.picklist(["x", "y"])), v.maxLength(2)),
  });
  same("parsed", v.parse(schema, { email: " a@b.co ", tags: ["x"] }), { email: "a@b.co", age: 20, tags: ["x"] });
  const result = v.safeParse(schema, { email: "a", age: 3, tags: ["x", "z"] });
  same("flat", Object.keys(v.flatten(result.issues).nested), ["email", "age", "tags.1"]);
  same("thrown", await failure(() => v.parse(v.number(), "x")), 'Invalid type: Expected number but received "x"');
  same("is", [v.is(v.bigint(), 1n), v.is(v.map(v.string(), v.number()), new Map([["a", 1]]))], [true, true]);
});
