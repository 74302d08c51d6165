// cookie, cookie-signature, tough-cookie, set-cookie-parser and keygrip.
import * as cookieModule from "cookie";
import signature from "cookie-signature";
import Keygrip from "keygrip";
import * as setCookie from "set-cookie-parser";
import { CookieJar } from "tough-cookie";
import { program } from "../program.js";

const cookie = cookieModule.default ?? cookieModule;

export default program(async (same) => {
  const parseCookie = cookie.parseCookie ?? cookie.parse;
  same("parsed", { ...parseCookie("a=1; b=x%20y; a=2") }, { a: "1", b: "x y" });
  const serialize = cookie.serialize ?? ((name, value, options) => cookie.stringifySetCookie({ name, value, ...options }));
  same("serialized", serialize("a", "x y", { httpOnly: true, maxAge: 60, sameSite: "lax", path: "/" }), "a=x%20y; Max-Age=60; Path=/; HttpOnly; SameSite=Lax");
  const signed = signature.sign("hello", "tobiiscool");
  same("signed", signed, "hello.DGDUkGlIkCzPz+C0B064FNgHdEjox7ch8tOBGslZ5QI");
  same("unsigned", [signature.unsign(signed, "tobiiscool"), signature.unsign(signed, "luna")], ["hello", false]);
  const jar = new CookieJar();
  await jar.setCookie("key=value; Domain=example.com; Path=/a; Secure; HttpOnly", "https://www.example.com/a");
  same("jar", [await jar.getCookieString("https://sub.example.com/a/b"), await jar.getCookieString("http://example.com/a")], ["key=value", ""]);
  same("public suffix", await jar.setCookie("a=b; Domain=co.uk", "http://x.co.uk").catch((error) => error.message), "Cookie has domain set to a public suffix");
  const parseSetCookie = setCookie.parse ?? setCookie.default?.parse ?? setCookie.parseSetCookie;
  same("set-cookie", parseSetCookie(["a=b; Max-Age=5; Secure"])[0], { name: "a", value: "b", maxAge: 5, secure: true });
  const keys = new Keygrip(["new", "old"]);
  same("keygrip", [keys.index("data", new Keygrip(["old"]).sign("data")), keys.verify("data", "x")], [1, false]);
});
