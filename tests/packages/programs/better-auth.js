// better-auth: sign up, sign in and sessions with its memory adapter.
import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { program } from "../program.js";

const database = { user: [], session: [], account: [], verification: [] };
const auth = betterAuth({
  baseURL: "http://test",
  secret: "a secret of at least thirty-two characters",
  database: memoryAdapter(database),
  emailAndPassword: { enabled: true },
  telemetry: { enabled: false },
});

export default program(async (same) => {
  const post = (path, body) =>
    auth.handler(new Request(`http://test/api/auth${path}`, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json", origin: "http://test" } }));
  const user = { email: "ada@example.com", password: "correct horse" };
  const up = await post("/sign-up/email", { ...user, name: "Ada" });
  same("sign up", [up.status, (await up.json()).user.email], [200, "ada@example.com"]);
  same("wrong password", (await post("/sign-in/email", { ...user, password: "wrong horse" })).status, 401);
  const signedIn = await post("/sign-in/email", user);
  const cookie = signedIn.headers.getSetCookie().map((it) => it.split(";")[0]).join("; ");
  const session = await auth.api.getSession({ headers: new Headers({ cookie }) });
  same("session", session.user.name, "Ada");
  same("hashed", database.account[0].password.includes("horse"), false);
});
