// ajv with ajv-formats: compiled schemas (made with new Function), formats, $ref and error texts.
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { program } from "../program.js";

export default program((same) => {
  const ajv = new Ajv({ allErrors: true, coerceTypes: true, useDefaults: true, removeAdditional: true });
  (addFormats.default ?? addFormats)(ajv);
  const validate = ajv.compile({
    type: "object",
    $defs: { tag: { type: "string", pattern: "^[a-z]+$" } },
    properties: {
      id: { type: "string", format: "uuid" },
      count: { type: "integer", minimum: 1, default: 3 },
      tags: { type: "array", items: { $ref: "#/$defs/tag" }, uniqueItems: true },
      mail: { type: "string", format: "email" },
    },
    required: ["id"],
    additionalProperties: false,
  });
  const good = { id: "123e4567-e89b-12d3-a456-426614174000", tags: ["a", "b"], count: "7", extra: 1 };
  same("valid", [validate(good), good.count, "extra" in good], [true, 7, false]);
  same("invalid", validate({ tags: ["a", "a", "B"], mail: "x" }), false);
  same("errors", validate.errors.map((error) => error.keyword).sort(), ["format", "pattern", "required", "uniqueItems"]);
  same("text", ajv.errorsText(validate.errors).includes("data must have required property 'id'"), true);
});
