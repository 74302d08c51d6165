// arktype: types from strings, morphs and errors.
import { type } from "arktype";
import { program } from "../program.js";

export default program((same) => {
  const user = type({ name: "string >= 2", "age?": "number.integer > 0", tags: "('a' | 'b')[]", born: "string.date.iso.parse" });
  const good = user({ name: "Ada", tags: ["a"], born: "2024-01-02" });
  same("parsed", [good.name, good.born.getUTCFullYear()], ["Ada", 2024]);
  const bad = user({ name: "A", age: 0.5, tags: ["c"], born: "2024-01-02" });
  same("errors", [bad instanceof type.errors, [...bad].map((error) => error.path.join(".")).sort()], [true, ["age", "name", "tags.0"]]);
  same("extends", type("1").extends("number"), true);
  same("pipe", type("string.numeric.parse").to("number > 3")("7"), 7);
});
