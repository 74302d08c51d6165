// node:url, node:querystring, node:punycode (https://nodejs.org/api/url.html).

import punycode from "node:punycode";
import querystring from "node:querystring";
import url, { domainToASCII, domainToUnicode, fileURLToPath, pathToFileURL, urlToHttpOptions } from "node:url";
import { equal, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("legacy parse, format and resolve", () => {
  const parsed = url.parse("http://user:pass@host.com:8080/p/a/t/h?query=string#hash", true);
  same([parsed.protocol, parsed.auth, parsed.host, parsed.port, parsed.hostname, parsed.pathname, parsed.search, parsed.hash],
    ["http:", "user:pass", "host.com:8080", "8080", "host.com", "/p/a/t/h", "?query=string", "#hash"]);
  equal(parsed.query.query, "string");
  equal(url.format(parsed), parsed.href);
  equal(url.format({ protocol: "https", host: "a.b", pathname: "c", query: { d: 1 } }), "https://a.b/c?d=1");
  equal(url.resolve("http://a.com/b/c", "../d"), "http://a.com/d");
  equal(url.resolve("/one/two/three", "four"), "/one/two/four");
  equal(url.parse("/a?b").pathname, "/a");
  throws(() => url.parse(1), { code: "ERR_INVALID_ARG_TYPE" });
});

test("file URLs", () => {
  equal(fileURLToPath("file:///a%20b/c"), "/a b/c");
  equal(pathToFileURL("/a b#?%").href, "file:///a%20b%23%3F%25");
  throws(() => fileURLToPath("http://a/"), { code: "ERR_INVALID_URL_SCHEME" });
  throws(() => fileURLToPath("file:///a%2fb"), { code: "ERR_INVALID_FILE_URL_PATH" });
});

test("domains, and options of requests", () => {
  equal(domainToASCII("m\u00fcnchen.de"), "xn--mnchen-3ya.de");
  equal(domainToUnicode("xn--mnchen-3ya.de"), "m\u00fcnchen.de");
  equal(urlToHttpOptions(new URL("http://a:b@c:1/d?e")).auth, "a:b");
  equal(punycode.encode("ma\u00f1ana"), "maana-pta");
  equal(punycode.decode("maana-pta"), "ma\u00f1ana");
});

test("query strings", () => {
  same({ ...querystring.parse("a=1&a=2&b=%20+c&d") }, { a: ["1", "2"], b: "  c", d: "" });
  equal(querystring.stringify({ a: [1, 2], b: "x y", c: true, d: {} }), "a=1&a=2&b=x%20y&c=true&d=");
  same({ ...querystring.parse("a=1&b=2", "&", "=", { maxKeys: 1 }) }, { a: "1" });
});
