import { equal, ok, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("components are matched, and their groups have names or numbers", () => {
  const pattern = new URLPattern({ hostname: ":sub.example.com", pathname: "/books/:id(\\d+)/*" });
  const match = pattern.exec("https://shop.example.com/books/12/pages/3?q=1#top");
  same(match.hostname, { input: "shop.example.com", groups: { sub: "shop" } });
  same(match.pathname, { input: "/books/12/pages/3", groups: { id: "12", 0: "pages/3" } });
  same(match.search, { input: "q=1", groups: { 0: "q=1" } });
  same(match.inputs, ["https://shop.example.com/books/12/pages/3?q=1#top"]);
  equal(pattern.exec("https://shop.example.com/books/x/1"), null);
  ok(pattern.hasRegExpGroups);
});

test("a whole pattern in one string", () => {
  const pattern = new URLPattern("https://*.example.com:8080/a{/:b}?\\?q=*");
  equal(pattern.protocol, "https");
  equal(pattern.hostname, "*.example.com");
  equal(pattern.port, "8080");
  equal(pattern.pathname, "/a/:b?");
  ok(pattern.test("https://x.example.com:8080/a?q=1"));
  ok(pattern.test("https://x.example.com:8080/a/c?q=1"));
  ok(!pattern.test("https://x.example.com/a?q=1"));
});

test("a relative pattern has its base, and components after the given ones are any", () => {
  const pattern = new URLPattern("../c/:x", "https://example.com/a/b/");
  equal(pattern.pathname, "/a/c/:x");
  equal(pattern.search, "*");
  equal(pattern.hostname, "example.com");
  ok(pattern.test("d/../../c/e", "https://example.com/a/b/"));
  throws(() => new URLPattern("/path"), { name: "TypeError" });
  throws(() => new URLPattern({ pathname: "/" }, "https://example.com"), { name: "TypeError" });
});

test("what is fixed becomes canonical", () => {
  equal(new URLPattern({ pathname: "/caf\u00e9" }).pathname, "/caf%C3%A9");
  equal(new URLPattern({ hostname: "M\u00fcnchen.de" }).hostname, "xn--mnchen-3ya.de");
  equal(new URLPattern({ protocol: "https", port: "443" }).port, "");
  ok(new URLPattern({ pathname: "/FOO" }, { ignoreCase: true }).test({ pathname: "/foo" }));
  throws(() => new URLPattern({ hostname: "bad hostname" }), { name: "TypeError" });
});

test("mistakes throw a TypeError", () => {
  for (const pathname of ["(", "/:a/:a", "{", "}", "(\\", "/(?x)", "/([)", ":", "/(\u00e9)", "*?+"]) {
    throws(() => new URLPattern({ pathname }), { name: "TypeError" });
  }
  throws(() => URLPattern({}), { name: "TypeError" });
  throws(() => URLPattern.prototype.test.call({}, ""), { name: "TypeError" });
});

test("a group may have the name of something that objects have", () => {
  const { groups } = new URLPattern({ pathname: "/:__proto__/:constructor" }).exec({ pathname: "/a/b" }).pathname;
  same(Object.entries(groups), [["__proto__", "a"], ["constructor", "b"]]);
  equal(Object.getPrototypeOf(groups), Object.prototype);
});

test("generate and compareComponent", () => {
  const pattern = new URLPattern({ pathname: "/users/:id{.:ext}" });
  equal(pattern.generate("pathname", { id: "a b", ext: "png" }), "/users/a%20b.png");
  throws(() => pattern.generate("pathname", { id: "a/b", ext: "png" }), { name: "TypeError" });
  throws(() => pattern.generate("pathname", {}), { name: "TypeError" });
  const [fixed, named] = [new URLPattern({ pathname: "/a" }), new URLPattern({ pathname: "/:a" })];
  equal(URLPattern.compareComponent("pathname", fixed, named), 1);
  equal(URLPattern.compareComponent("pathname", named, fixed), -1);
});

test("what an app does to built-ins changes nothing", () => {
  const { exec } = RegExp.prototype;
  const { push } = Array.prototype;
  try {
    RegExp.prototype.exec = () => null;
    Array.prototype.push = () => { throw new Error("pushed"); };
    ok(new URLPattern("https://example.com/:a").test("https://example.com/b"));
  } finally {
    RegExp.prototype.exec = exec;
    Array.prototype.push = push;
  }
});
