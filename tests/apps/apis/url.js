import { assert, equal, throws } from "./assert.js";

export function parts() {
  const url = new URL("https://user:pass@example.com:8080/a/b?x=1#top");
  equal([url.protocol, url.username, url.password, url.hostname, url.port], ["https:", "user", "pass", "example.com", "8080"]);
  equal([url.host, url.origin, url.pathname, url.search, url.hash], ["example.com:8080", "https://example.com:8080", "/a/b", "?x=1", "#top"]);
  equal(`${url}`, url.href);
  equal(JSON.stringify(url), `"${url.href}"`);
}

export function default_ports_vanish() {
  equal(new URL("http://x:80/").port, "");
  equal(new URL("https://x:443/").href, "https://x/");
  equal(new URL("http://x:443/").port, "443");
}

export function custom_schemes() {
  const url = new URL("custom+scheme://host/path?q");
  equal([url.protocol, url.host, url.pathname, url.origin], ["custom+scheme:", "host", "/path", "null"]);
  equal(new URL("mailto:a@b.c").pathname, "a@b.c");
}

export async function relative() {
  equal(new URL("../c?d", "http://x/a/b/").href, "http://x/a/c?d");
  equal(new URL("//other/p", "https://x/").href, "https://other/p");
  equal(new URL("?q", "http://x/a").href, "http://x/a?q");
  await throws("TypeError", () => new URL("../c"));
  await throws("TypeError", () => new URL("http://"));
  equal(URL.canParse("../c"), false);
  equal(URL.canParse("../c", "http://x"), true);
  equal(URL.parse("nonsense"), null);
}

export function setters() {
  const url = new URL("http://x/a");
  url.protocol = "https";
  url.host = "y:81";
  url.pathname = "/b c";
  url.search = "q=ü";
  url.hash = "h";
  url.username = "me";
  equal(url.href, "https://me@y:81/b%20c?q=%C3%BC#h");
  url.port = "";
  url.search = "";
  url.hash = "";
  equal(url.href, "https://me@y/b%20c");
}

export function odd_hosts() {
  equal(new URL("http://EXAMPLE.com").hostname, "example.com");
  equal(new URL("http://bücher.example").hostname, "xn--bcher-kva.example");
  equal(new URL("http://0x7f.1/").hostname, "127.0.0.1");
  equal(new URL("http://[::1]:3/").host, "[::1]:3");
  equal(new URL("http://x/\\a\tb").pathname, "//ab");
}

export function params_are_live() {
  const url = new URL("http://x/?a=1#keep");
  const { searchParams } = url;
  searchParams.set("a", "2");
  searchParams.append("b", "x y");
  equal(url.href, "http://x/?a=2&b=x+y#keep");
  searchParams.delete("a");
  searchParams.append("a", "3");
  searchParams.sort();
  equal(url.href, "http://x/?a=3&b=x+y#keep");
  url.search = "?c=4";
  equal(searchParams.get("c"), "4");
  equal(url.searchParams, searchParams);
  searchParams.delete("c");
  equal(url.href, "http://x/#keep");
  assert(url.searchParams === searchParams);
}
