// zod: objects, unions, transforms, errors by path and JSON schema.
import { z } from "zod";
import { program } from "../program.js";

export default program(async (same) => {
  const user = z.object({
    name: z.string().trim().min(2),
    email: z.email(),
    age: z.coerce.number().int().positive().optional(),
    tags: z.array(z.enum(["a", "b"])).default(["a"]),
    at: z.iso.datetime().transform((text) => new Date(text).getUTCFullYear()),
  });
  const good = { name: " Ada ", email: "ada@example.com", age: "36", at: "2024-05-06T07:08:09Z" };
  same("parsed", user.parse(good), { name: "Ada", email: "ada@example.com", age: 36, tags: ["a"], at: 2024 });
  const bad = user.safeParse({ name: "A", email: "x", tags: ["c"], at: "now" });
  same("paths", bad.error.issues.map((issue) => issue.path.join(".")), ["name", "email", "tags.0", "at"]);
  same("message", bad.error.issues[0].message, "Too small: expected string to have >=2 characters");
  const shape = z.discriminatedUnion("kind", [z.object({ kind: z.literal("circle"), r: z.number() }), z.object({ kind: z.literal("square"), a: z.number() })]);
  same("union", [shape.safeParse({ kind: "circle", r: 1 }).success, shape.safeParse({ kind: "square", r: 1 }).success], [true, false]);
  const even = z.number().refine(async (value) => value % 2 === 0, "odd");
  same("async", (await even.safeParseAsync(3)).error.issues[0].message, "odd");
  same("schema", z.toJSONSchema(z.object({ a: z.string().max(3) })).properties, { a: { type: "string", maxLength: 3 } });
});
