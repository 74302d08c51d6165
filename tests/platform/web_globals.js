import { equal, ok, rejects, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("navigator", () => {
  ok(navigator instanceof Navigator);
  equal(navigator.userAgent, "Hearth");
  equal(navigator.hardwareConcurrency, 1);
  same([navigator.language, navigator.languages], ["en-US", ["en-US"]]);
  throws(() => new Navigator(), { name: "TypeError" });
  throws(() => Object.create(navigator).userAgent, { name: "TypeError" });
});

test("a cache keeps what may be kept", async () => {
  const cache = caches.default;
  await cache.put("http://example.com/a#hash", new Response("kept", { headers: { "cache-control": "max-age=60" } }));
  const found = await cache.match("http://example.com/a");
  same([found.status, await found.text(), found.headers.get("cache-control")], [200, "kept", "max-age=60"]);
  equal(await (await cache.match("http://example.com/a")).text(), "kept");
  equal(await cache.match(new Request("http://example.com/a", { method: "HEAD" })), undefined);
  equal(await cache.delete("http://example.com/a"), true);
  equal(await cache.match("http://example.com/a"), undefined);
  for (const headers of [
    { "cache-control": "no-store" }, { "cache-control": "private, max-age=9" }, { "cache-control": "max-age=60, s-maxage=0" },
    { "set-cookie": "a=b" }, { expires: "Thu, 01 Jan 1970 00:00:00 GMT" }, { "cache-control": "max-age=9", age: "10" },
  ]) {
    await cache.put("http://example.com/b", new Response("", { headers }));
    equal(await cache.match("http://example.com/b"), undefined, JSON.stringify(headers));
  }
});

test("a cache minds Vary", async () => {
  const cache = await caches.open("vary");
  const request = (accept) => new Request("http://example.com/", { headers: { accept } });
  await cache.put(request("text/html"), new Response("html", { headers: { vary: "Accept" } }));
  await cache.put(request("text/plain"), new Response("plain", { headers: { vary: "Accept" } }));
  equal(await (await cache.match(request("text/html"))).text(), "html");
  equal(await (await cache.match(request("text/plain"))).text(), "plain");
  equal(await cache.match(request("image/png")), undefined);
  equal(await caches.default.match(request("text/html")), undefined);
  await rejects(cache.put("http://example.com/", new Response("", { headers: { vary: "*" } })), { name: "TypeError" });
});

test("a cache is bounded", async () => {
  const cache = await caches.open("bound");
  await cache.put("http://example.com/large", new Response(new Uint8Array(2 << 20)));
  equal(await cache.match("http://example.com/large"), undefined);
  for (let i = 0; i < 20; i++) await cache.put(`http://example.com/${i}`, new Response(new Uint8Array(900_000)));
  equal(await cache.match("http://example.com/0"), undefined);
  ok((await cache.match("http://example.com/19")) instanceof Response);
});

test("a cache refuses what it cannot do, and says so", async () => {
  const cache = caches.default;
  await rejects(cache.put(new Request("http://a/", { method: "POST" }), new Response()), { name: "TypeError" });
  await rejects(cache.put("http://a/", new Response("", { status: 206 })), { name: "TypeError" });
  await rejects(cache.keys(), { name: "NotSupportedError", message: /keys of Cache/ });
  await rejects(caches.has("a"), { name: "NotSupportedError" });
});

test("what V8 has is there", () => {
  same([1, 2, 3].values().map((x) => x * 2).toArray(), [2, 4, 6]);
  equal(new Intl.NumberFormat("de-DE").format(1234.5), "1.234,5");
  equal(typeof WebAssembly.compileStreaming, "function");
});
