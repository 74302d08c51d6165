// joi: objects, references, alternatives and messages.
import Joi from "joi";
import { program } from "../program.js";

export default program(async (same) => {
  const schema = Joi.object({
    name: Joi.string().alphanum().min(3).max(30).required(),
    password: Joi.string().pattern(/^[a-z0-9]{3,30}$/),
    repeat: Joi.ref("password"),
    born: Joi.number().integer().min(1900).max(2013),
    email: Joi.string().email({ tlds: { allow: ["com"] } }),
    when: Joi.date().iso(),
    kind: Joi.string().valid("a", "b").default("a"),
  }).with("password", "repeat").xor("born", "when");
  const { value, error } = schema.validate({ name: "Ada", born: "1990", email: "a@b.com" });
  same("valid", [value, error], [{ name: "Ada", born: 1990, email: "a@b.com", kind: "a" }, undefined]);
  const details = schema.validate({ name: "A", email: "a@b.xyz", born: 1 }, { abortEarly: false }).error.details;
  same("types", details.map((detail) => detail.type), ["string.min", "number.min", "string.email"]);
  same("message", details[0].message, '"name" length must be at least 3 characters long');
  const both = await schema.validateAsync({ name: "Ada", born: 1990, when: "2020-01-01" }).catch((error) => error.message);
  same("xor", both, '"value" contains a conflict between exclusive peers [born, when]');
});
