// elysia: schemas, plugins, guards and errors through its own handle.
import { Elysia, t } from "elysia";
import { program } from "../program.js";

const plugin = new Elysia({ prefix: "/v1" }).decorate("greeting", "hello").get("/hi/:name", ({ greeting, params }) => `${greeting} ${params.name}`);
const app = new Elysia()
  .onError(({ code, error, set }) => {
    if (code === "UNKNOWN") {
      set.status = 500;
      return `handled: ${error.message}`;
    }
  })
  .use(plugin)
  .derive(({ headers }) => ({ user: headers["x-user"] ?? "none" }))
  .get("/me", ({ user }) => ({ user }))
  .post("/items", ({ body, set }) => {
    set.status = 201;
    return { doubled: body.count * 2 };
  }, { body: t.Object({ count: t.Number({ minimum: 1 }) }) })
  .get("/fail", () => {
    throw new Error("broken");
  });


export default program(async (same) => {
  const ask = (path, options) => app.handle(new Request(`http://test${path}`, options));
  same("plugin", await (await ask("/v1/hi/Ada")).text(), "hello Ada");
  same("derive", await (await ask("/me", { headers: { "x-user": "Bo" } })).json(), { user: "Bo" });
  const post = (value) => ask("/items", { method: "POST", body: JSON.stringify(value), headers: { "content-type": "application/json" } });
  const made = await post({ count: 4 });
  same("schema", [made.status, await made.json()], [201, { doubled: 8 }]);
  same("refused", (await post({ count: 0 })).status, 422);
  const failed = await ask("/fail");
  same("error", [failed.status, await failed.text()], [500, "handled: broken"]);
});
