// passport with passport-local in an express app with sessions.
import express from "express";
import session from "express-session";
import passport from "passport";
import { Strategy } from "passport-local";
import { answer } from "../program.js";

passport.use(new Strategy((name, password, done) => done(null, password === "secret" ? { name } : false)));
passport.serializeUser((user, done) => done(null, user.name));
passport.deserializeUser((name, done) => done(null, { name }));

const app = express();
app.use(express.urlencoded({ extended: false }));
app.use(session({ secret: "s", resave: false, saveUninitialized: false }));
app.use(passport.initialize(), passport.session());
app.post("/login", passport.authenticate("local"), (request, response) => response.json(request.user));
app.get("/me", (request, response) => (request.isAuthenticated() ? response.json(request.user) : response.sendStatus(401)));
app.post("/logout", (request, response, next) => request.logout((error) => (error ? next(error) : response.sendStatus(204))));
app.get("/", async (request, response) => response.type("text").send(await answer(run, `http://${request.headers.host}`)));
app.listen(process.env.PORT ?? 3000);

async function run(same, origin) {
  const login = (password) => fetch(`${origin}/login`, { method: "POST", body: new URLSearchParams({ username: "Ada", password }) });
  same("wrong", (await login("wrong")).status, 401);
  const reply = await login("secret");
  same("right", await reply.json(), { name: "Ada" });
  const headers = { cookie: reply.headers.get("set-cookie").split(";")[0] };
  same("me", await (await fetch(`${origin}/me`, { headers })).json(), { name: "Ada" });
  await fetch(`${origin}/logout`, { method: "POST", headers });
  same("after", (await fetch(`${origin}/me`, { headers })).status, 401);
}
