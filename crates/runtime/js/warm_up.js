// @ts-check
"use strict";
// Handles requests while the snapshot is made, in a context that is thrown away, so that the
// snapshot has the code of all functions that a first request needs, and V8 need not compile them
// again for each worker. Gets the exports of main.js.
//
// Natives that need a worker throw here, which is caught, and the code after them is called
// separately. The others work.

function attempt(f) {
  try {
    f();
  } catch {
    // Only that it was compiled counts.
  }
}

main.setEnvironment(["NAME", "value"], "app", "1.0.0", "worker");

const handlers = [
  () => new Response("text"),
  () => new Response("text", { status: 201, headers: { "x-name": "value" } }),
  () => Response.json({ name: "value" }),
  (request) => {
    attempt(() => request.method);
    attempt(() => request.url);
    attempt(() => request.headers.get("accept"));
    attempt(() => new URL("http://host/path?name=value").searchParams.get("name"));
    attempt(() => request.json());
    return new Response(null);
  },
  async () => {
    await undefined;
    return new Response("text");
  },
];
for (let i = 0; i < handlers.length; i++) {
  main.setHandlers({ default: { fetch: handlers[i] } });
  attempt(() => main.dispatchFetch(i + 1));
}
attempt(() => console.log("text"));
attempt(() => new Headers({ "x-name": "value" }).get("x-name"));
attempt(() => new Headers([["x-name", "value"]]).has("x-name"));
attempt(() => new URLSearchParams("name=value").get("name"));
for (const part of ["href", "protocol", "origin", "host", "hostname", "pathname", "search", "hash"]) {
  attempt(() => new URL("http://host:80/path?name=value#hash")[part]);
}
attempt(() => String(new URL("path", "http://host/")));
attempt(() => String(new URLSearchParams({ name: "value" })));
attempt(() => new TextDecoder().decode(new TextEncoder().encode("text")));
