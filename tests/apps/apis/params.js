import { equal, throws } from "./assert.js";

export async function constructors() {
  equal(`${new URLSearchParams("?a=1&b=2")}`, "a=1&b=2");
  equal(`${new URLSearchParams({ a: 1, b: "x" })}`, "a=1&b=x");
  equal(`${new URLSearchParams([["a", "1"], ["a", "2"]])}`, "a=1&a=2");
  equal(`${new URLSearchParams(new Map([["k", "v"]]))}`, "k=v");
  equal(`${new URLSearchParams()}`, "");
  await throws("TypeError", () => new URLSearchParams([["only one"]]));
}

export function copies_are_copies() {
  const first = new URLSearchParams("a=1");
  const second = new URLSearchParams(first);
  second.set("a", "2");
  first.append("b", "3");
  equal(`${first}`, "a=1&b=3");
  equal(`${second}`, "a=2");
}

export function reading() {
  const params = new URLSearchParams("a=1&b=2&a=3");
  equal(params.get("a"), "1");
  equal(params.getAll("a"), ["1", "3"]);
  equal(params.get("c"), null);
  equal(params.has("b"), true);
  equal(params.has("a", "3"), true);
  equal(params.has("a", "2"), false);
  equal(params.size, 3);
  equal([...params], [["a", "1"], ["b", "2"], ["a", "3"]]);
  equal([...params.keys()], ["a", "b", "a"]);
  equal([...params.values()], ["1", "2", "3"]);
}

export function changing() {
  const params = new URLSearchParams("a=1&b=2&a=3");
  params.set("a", "x");
  equal(`${params}`, "a=x&b=2");
  params.delete("b", "3");
  params.append("a", "y");
  params.delete("a", "x");
  equal(`${params}`, "b=2&a=y");
  params.sort();
  equal(`${params}`, "a=y&b=2");
}

export function encoding() {
  equal(`${new URLSearchParams({ "ä&=": "1+ 2%*-._~" })}`, "%C3%A4%26%3D=1%2B+2%25*-._%7E");
  equal(new URLSearchParams("a=%F0%9F%94%A5+%zz&b").get("a"), "🔥 %zz");
  equal(new URLSearchParams("b").get("b"), "");
  equal(new URLSearchParams("=v").get(""), "v");
}
