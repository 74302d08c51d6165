import { equal, throws } from "./assert.js";

export function append_joins() {
  const headers = new Headers({ "X-A": "1" });
  headers.append("x-a", "2");
  equal(headers.get("X-a"), "1, 2");
  headers.set("x-A", " 3 ");
  equal(headers.get("x-a"), "3");
}

export function cookies_stay_apart() {
  const headers = new Headers();
  headers.append("Set-Cookie", "a=1");
  headers.append("set-cookie", "b=2, c");
  equal(headers.getSetCookie(), ["a=1", "b=2, c"]);
  equal(headers.get("set-cookie"), "a=1, b=2, c");
  equal([...headers], [["set-cookie", "a=1"], ["set-cookie", "b=2, c"]]);
  equal(new Headers(headers).getSetCookie().length, 2);
}

export function iteration_is_sorted() {
  const headers = new Headers([["b", "2"], ["A", "1"], ["c", "3"], ["a", "x"]]);
  equal([...headers], [["a", "1, x"], ["b", "2"], ["c", "3"]]);
  equal([...headers.keys()], ["a", "b", "c"]);
  const seen = [];
  headers.forEach((value, name, all) => seen.push(name, value, all === headers));
  equal(seen, ["a", "1, x", true, "b", "2", true, "c", "3", true]);
}

export function deleting() {
  const headers = new Headers({ a: "1", b: "2" });
  headers.delete("A");
  equal(headers.has("a"), false);
  equal(headers.get("a"), null);
  equal([...headers].length, 1);
}

export async function bad_ones() {
  await throws("TypeError", () => new Headers({ "a b": "1" }));
  await throws("TypeError", () => new Headers({ a: "x\ny" }));
  await throws("TypeError", () => new Headers({ a: "🔥" }));
  await throws("TypeError", () => new Headers([["a"]]));
  await throws("TypeError", () => Headers());
}
