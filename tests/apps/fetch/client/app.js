// One way to call fetch for each path. The backend's address is in env.
const described = async (f) => {
  try {
    return await f();
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};
const ways = {
  get: async (at) => {
    const response = await fetch(at("/hello"));
    return [response.status, response.ok, response.headers.get("x-backend"), await response.text(), response.url === at("/hello")].join();
  },
  post: async (at) => (await fetch(at("/echo"), { method: "POST", body: "posted", headers: { "x-custom": "yes" } })).text(),
  request: async (at) => {
    const request = new Request(at("/echo"), { method: "PUT", body: new Uint8Array([104, 105]) });
    return (await fetch(request, { headers: { "x-custom": "over" } })).text();
  },
  params: async (at) => (await fetch(at("/echo"), { method: "POST", body: new URLSearchParams({ a: "1 2" }) })).text(),
  params_typed: async (at) => (await fetch(at("/echo"), {
    method: "POST",
    body: new URLSearchParams({ a: "1" }),
    headers: { "content-type": "text/x-own" },
  })).text(),
  form: async (at) => {
    const form = new FormData();
    form.set("a", "1");
    const { type, body } = await (await fetch(at("/echo"), { method: "POST", body: form })).json();
    return [type.startsWith("multipart/form-data; boundary="), body.includes('name="a"')].join();
  },
  upload: async (at) => {
    let left = 5;
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        controller.enqueue(new TextEncoder().encode(`${left}`));
        if (--left === 0) controller.close();
      },
    });
    return (await fetch(at("/stream"), { method: "POST", body, duplex: "half" })).text();
  },
  missing: async (at) => {
    const response = await fetch(at("/missing"));
    return [response.status, response.statusText, response.ok, await response.text()].join();
  },
  cookies: async (at) => (await fetch(at("/cookies"))).headers.getSetCookie().join("|"),
  large: async (at) => `${(await (await fetch(at("/large"))).arrayBuffer()).byteLength}`,
  parallel: async (at) => {
    const texts = await Promise.all(Array.from({ length: 20 }, async () => (await fetch(at("/hello"))).text()));
    return `${texts.filter((text) => text === "hello").length}`;
  },
  see_other: async (at) => {
    const response = await fetch(at("/see_other"), { method: "POST", body: "lost" });
    return [response.redirected, await response.text()].join();
  },
  keep: async (at) => (await fetch(at("/keep"), { method: "POST", body: "kept" })).text(),
  manual: async (at) => {
    const response = await fetch(at("/see_other"), { redirect: "manual" });
    return [response.status, response.headers.get("location")].join();
  },
  redirect_error: async (at) => (await fetch(at("/see_other"), { redirect: "error" })).text(),
  loop: async (at) => (await fetch(at("/loop"))).text(),
  redirect_to: async (at, query) => (await fetch(at(`/redirect?to=${encodeURIComponent(query.get("to"))}`))).text(),
  url: async (at, query) => (await fetch(query.get("to"))).text(),
  abort: async (at) => {
    const controller = new AbortController();
    const pending = fetch(at("/hello"), { signal: controller.signal });
    controller.abort(new RangeError("changed my mind"));
    return (await pending).text();
  },
  aborted: (at) => fetch(at("/hello"), { signal: AbortSignal.abort() }),
  timeout: async (at, query) => (await fetch(query.get("to"), { signal: AbortSignal.timeout(50) })).text(),
  data: async () => (await fetch("data:text/plain;base64,aGVsbG8=")).text(),
  scheme: () => fetch("ftp://example.com/"),
  bad_header: (at) => fetch(at("/hello"), { headers: { "bad name": "x" } }),
  get_with_body: (at) => fetch(at("/hello"), { body: "x" }),
};
export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const way = ways[url.pathname.slice(1)];
    return new Response(await described(() => way((path) => env.BACKEND + path, url.searchParams)));
  },
};
