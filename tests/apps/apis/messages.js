import { assert, equal, throws } from "./assert.js";

export async function requests_are_cloned() {
  const request = new Request("http://x/", { method: "POST", body: "text", headers: { a: "1" } });
  const copy = request.clone();
  copy.headers.set("a", "2");
  equal([await request.text(), await copy.text(), request.headers.get("a")], ["text", "text", "1"]);
}

export async function requests_from_requests() {
  const first = new Request("http://x/a", { method: "POST", body: "text", headers: { a: "1", "content-type": "text/x" } });
  const second = new Request(first, { headers: { b: "2" } });
  equal([second.url, second.method, second.headers.get("a"), second.headers.get("b")], ["http://x/a", "POST", null, "2"]);
  equal(await second.text(), "text");
  equal(first.bodyUsed, true);
  const third = new Request("http://y/", new Request("http://x/", { method: "PUT", body: "b" }));
  equal([third.url, third.method], ["http://y/", "PUT"]);
}

export async function bad_requests() {
  await throws("TypeError", () => new Request("relative"));
  await throws("TypeError", () => new Request("http://x/", { method: "GET", body: "x" }));
  await throws("TypeError", () => new Request("http://x/", { method: "bad method" }));
  await throws("TypeError", () => new Request("http://x/", { method: "TRACE" }));
  equal(new Request("http://x/", { method: "post" }).method, "POST");
}

export async function responses() {
  const response = new Response("x", { status: 404, statusText: "Gone Fishing" });
  equal([response.ok, response.status, response.statusText, response.type], [false, 404, "Gone Fishing", "default"]);
  equal(response.headers.get("content-type"), "text/plain;charset=UTF-8");
  equal(await Response.json([1], { status: 201 }).json(), [1]);
  equal(Response.error().type, "error");
  equal(Response.redirect("http://x/y").headers.get("location"), "http://x/y");
  await throws("RangeError", () => new Response("", { status: 199 }));
  await throws("TypeError", () => new Response("x", { status: 204 }));
  await throws("RangeError", () => Response.redirect("http://x/", 200));
  await throws("TypeError", () => Response.json(undefined));
}

export async function bodies_of_every_kind() {
  equal(await new Response("text").text(), "text");
  equal(await new Response(new Uint8Array([65, 66])).text(), "AB");
  equal(await new Response(new Uint8Array([65, 66]).buffer).text(), "AB");
  equal(await new Response(new DataView(new Uint8Array([65, 66, 67]).buffer, 1)).text(), "BC");
  equal(await new Response(new Blob(["blob"])).text(), "blob");
  equal(await new Response(new URLSearchParams("a=b")).text(), "a=b");
  equal(await new Response('{"a":1}').json(), { a: 1 });
  equal((await new Response("abc").arrayBuffer()).byteLength, 3);
  equal([...(await new Response("abc").bytes())], [97, 98, 99]);
  equal((await new Response("abc").blob()).size, 3);
  equal(await new Response(null).text(), "");
  equal(new Response(null).body, null);
  equal(await new Response(42).text(), "42");
}

export async function forms() {
  const form = new FormData();
  form.append("a", "1");
  form.append("a", "2");
  form.append("file", new File(["content"], "name.txt", { type: "text/plain" }));
  const back = await new Response(form).formData();
  equal(back.getAll("a"), ["1", "2"]);
  const file = back.get("file");
  assert(file instanceof File);
  equal([file.name, file.type, await file.text()], ["name.txt", "text/plain", "content"]);
  const parsed = await new Response("x=1&y=%20", { headers: { "content-type": "application/x-www-form-urlencoded" } }).formData();
  equal([...parsed], [["x", "1"], ["y", " "]]);
  await throws("TypeError", () => new Response("x").formData());
}
