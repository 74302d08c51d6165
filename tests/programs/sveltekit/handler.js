// Becomes build/index.js: see adapter.js.
import { manifest } from "./manifest.js";
import { Server } from "./server/index.js";

const server = new Server(manifest);
let ready;

export default {
  async fetch(request, env) {
    ready ??= server.init({ env });
    await ready;
    return server.respond(request, { getClientAddress: () => request.headers.get("x-forwarded-for") });
  },
};
