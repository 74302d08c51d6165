// path-to-regexp: match, compile and parse.
import { compile, match, parse, pathToRegexp } from "path-to-regexp";
import { failure, program } from "../program.js";

export default program(async (same) => {
  same("match", match("/users/:id{/:rest}")("/users/7/x").params, { id: "7", rest: "x" });
  same("wildcard", match("/files/*path")("/files/a/b").params, { path: ["a", "b"] });
  same("no match", match("/a")("/b"), false);
  same("decoded", match("/:name")("/caf%C3%A9").params, { name: "caf\u00e9" });
  same("compile", compile("/users/:id{/:rest}")({ id: "a b" }), "/users/a%20b");
  same("tokens", parse("/a/:b").tokens, [{ type: "text", value: "/a/" }, { type: "param", name: "b" }]);
  const { regexp, keys } = pathToRegexp("/x/:y");
  same("expression", [regexp.exec("/x/1")[1], keys[0].name], ["1", "y"]);
  same("missing", (await failure(() => compile("/:id")({}))).includes("Missing parameters: id"), true);
});
