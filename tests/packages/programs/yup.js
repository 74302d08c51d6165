// yup: casting, conditions and collected errors.
import * as yup from "yup";
import { program } from "../program.js";

export default program(async (same) => {
  const schema = yup.object({
    name: yup.string().trim().required(),
    age: yup.number().positive().integer(),
    company: yup.boolean().default(false),
    vat: yup.string().when("company", { is: true, then: (it) => it.required("a vat number is needed") }),
    tags: yup.array(yup.string().oneOf(["a", "b"])).ensure(),
  });
  same("cast", await schema.validate({ name: " Ada ", age: "24" }), { tags: [], company: false, age: 24, name: "Ada" });
  const error = await schema.validate({ age: -1, company: true, tags: ["c"] }, { abortEarly: false }).catch((error) => error);
  same("errors", error.inner.map((it) => it.path).sort(), ["age", "name", "tags[0]", "vat"]);
  same("message", error.errors.includes("a vat number is needed"), true);
  same("reach", yup.reach(schema, "age").isType(3), true);
});
