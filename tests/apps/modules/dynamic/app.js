// Modules that are imported while requests are handled.
const tried = async (f) => {
  try {
    return (await f()).value;
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};
const ways = {
  "/literal": () => tried(() => import("./one.js")),
  "/computed": () => tried(() => import(`./${["o", "n", "e"].join("")}.js`)),
  "/json": async () => (await import("./data.json", { with: { type: "json" } })).default.value,
  "/missing": () => tried(() => import("./missing.js")),
  "/broken": () => tried(() => import("./broken.js")),
  "/throws": () => tried(() => import("./throws.js")),
  "/throws_again": async () => (await tried(() => import("./throws.js"))) === (await tried(() => import("./throws.js"))),
  "/waits": () => tried(() => import("./waits.js")),
  "/same": async () => (await import("./one.js")) === (await import("./one.js")),
  "/evaluated": () => tried(() => new Function('return import("./one.js")')()),
  "/attribute": () => tried(() => import("./data.json", { with: { type: "css" } })),
};
export default { fetch: async (request) => new Response(`${await ways[new URL(request.url).pathname]()}`) };
