// Sockets of clients. What happens to them is answered to requests for `/next`, in order.

import { AsyncLocalStorage } from "node:async_hooks";

const storage = new AsyncLocalStorage();
const told = [];
const askers = [];
const room = new Set();

function tell(text) {
  const asker = askers.shift();
  if (asker === undefined) told.push(text);
  else asker(text);
}

function next() {
  return told.length > 0 ? told.shift() : new Promise((resolve) => askers.push(resolve));
}

/** Tells how a socket ends. */
function watch(socket, request) {
  socket.addEventListener("error", (event) => tell(`error: ${event.message}`));
  socket.addEventListener("close", (event) => tell(`close: ${event.code} ${event.reason} ${event.wasClean} ${socket.readyState}`));
  request.signal.addEventListener("abort", () => tell("aborted"));
}

const handlers = {
  echo(socket) {
    socket.addEventListener("message", ({ data }) => socket.send(data));
  },

  kinds(socket) {
    socket.addEventListener("message", ({ data }) => {
      if (data === "blob") socket.binaryType = "blob";
      else if (data === "view") socket.send(new Uint8Array([0, 1, 2, 3]).subarray(1, 3));
      else if (data === "send blob") socket.send(new Blob(["a", "b"]));
      else socket.send(`${data?.constructor?.name} ${data?.byteLength ?? data?.size ?? data.length}`);
    });
  },

  goodbye(socket) {
    socket.addEventListener("message", ({ data }) => {
      const [code, reason] = data.split(" ");
      if (code === "") socket.close();
      else socket.close(Number(code), reason);
      tell(`closing: ${socket.readyState}`);
    });
  },

  room(socket) {
    room.add(socket);
    socket.addEventListener("message", ({ data }) => room.forEach((one) => one.send(data)));
    socket.addEventListener("close", () => room.delete(socket));
    socket.send(`${room.size}`);
  },

  throws(socket) {
    socket.addEventListener("message", ({ data }) => {
      if (data === "throw") throw new Error("thrown by a listener");
    });
    socket.addEventListener("message", async ({ data }) => {
      if (data === "reject") throw new Error("rejected by a listener");
    });
    socket.addEventListener("message", ({ data }) => socket.send(`still here: ${data}`));
  },

  context(socket) {
    socket.addEventListener("message", ({ data }) => {
      setTimeout(() => socket.send(`${storage.getStore()}: ${data}`), 1);
    });
  },

  late(socket, _request, context) {
    socket.addEventListener("close", () => {
      context.waitUntil((async () => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        tell("waited");
      })());
    });
  },

  limits(socket) {
    let spun = 0;
    socket.addEventListener("message", ({ data }) => {
      if (data === "for ever") for (;;);
      // Each is less than the limit, all together are more.
      for (const end = performance.now() + Number(data); performance.now() < end;) spun++;
      socket.send("spun");
    });
  },

  flood(socket) {
    socket.addEventListener("message", async () => {
      const piece = new Uint8Array(65536);
      let most = 0;
      while (socket.readyState === WebSocket.OPEN) {
        socket.send(piece);
        most = Math.max(most, socket.bufferedAmount);
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      tell(most > 0 && most <= 1 << 20 ? "bounded" : `${most} bytes waited`);
    });
  },
};

function upgrade(request, context, name) {
  const [client, server] = Object.values(new WebSocketPair());
  watch(server, request);
  const headers = new Headers({ "x-app": "websockets" });
  const offered = request.headers.get("sec-websocket-protocol");
  if (offered?.includes("chat")) headers.set("sec-websocket-protocol", "chat");
  server.accept();
  handlers[name](server, request, context);
  return new Response(null, { status: 101, webSocket: client, headers });
}

function attempt(f) {
  try {
    f();
    return "fine";
  } catch (error) {
    return error.name;
  }
}

/** What cannot be done with a socket, and what that is called. */
function misuse() {
  const pair = new WebSocketPair();
  const accepted = new WebSocketPair();
  accepted[0].accept();
  const respond = (init) => attempt(() => new Response(null, init));
  return Response.json({
    keys: Object.keys(pair).join(),
    kind: pair[0] instanceof WebSocket && pair[0] instanceof EventTarget && `${pair[0]}`,
    state: pair[0].readyState,
    binaryType: pair[0].binaryType,
    sendUnaccepted: attempt(() => pair[0].send("x")),
    closeUnaccepted: attempt(() => pair[0].close()),
    respondAccepted: respond({ status: 101, webSocket: accepted[0] }),
    respondOther: respond({ status: 101, webSocket: {} }),
    respond200: respond({ status: 200, webSocket: pair[0] }),
    respondWithout: respond({ status: 101 }),
    respondBody: attempt(() => new Response("x", { status: 101, webSocket: pair[0] })),
    respond: respond({ status: 101, webSocket: pair[0] }),
    clone: attempt(() => new Response(null, { status: 101, webSocket: pair[0] }).clone()),
    acceptTwice: attempt(() => accepted[0].accept()),
    close500: attempt(() => accepted[0].close(500)),
    close1006: attempt(() => accepted[0].close(1006)),
    closeLong: attempt(() => accepted[0].close(1000, "x".repeat(124))),
    close1011: attempt(() => accepted[0].close(1011, "x".repeat(123))),
    sendClosed: attempt(() => accepted[0].send("x")),
    closeAgain: attempt(() => accepted[0].close()),
    ordinary: new Response("").webSocket === null,
  });
}

/** Two parts of one app speak to each other. */
async function conversation() {
  const [one, other] = Object.values(new WebSocketPair());
  const heard = [];
  let open = 2;
  const ended = new Promise((resolve) => {
    for (const [name, socket] of Object.entries({ one, other })) {
      socket.addEventListener("message", ({ data }) => heard.push(`${name} heard ${data}`));
      socket.addEventListener("close", ({ code, reason }) => {
        heard.push(`${name} closed ${code} ${reason}`);
        if (--open === 0) resolve();
      });
    }
  });
  other.accept();
  one.accept();
  other.addEventListener("message", ({ data }) => {
    other.send(data.toUpperCase());
    if (data === "bye") other.close(4000, "enough");
  });
  one.send("hello");
  one.send("bye");
  await ended;
  return Response.json(heard);
}

const kept = {};

export default {
  async fetch(request, _env, context) {
    const { pathname } = new URL(request.url);
    const name = pathname.slice(1);
    if (name === "next") return new Response(await next());
    if (name === "misuse") return misuse();
    if (name === "conversation") return conversation();
    if (name === "retire") {
      setTimeout(() => {
        throw new Error("outside of any handler");
      }, 0);
      context.waitUntil(new Promise((resolve) => setTimeout(resolve, 5)));
      return new Response("retiring");
    }
    if (name === "unasked") return upgrade(request, context, "echo");
    if (name === "deaf") {
      const pair = new WebSocketPair();
      kept.pair = pair;
      return new Response(null, { status: 101, webSocket: pair[1] });
    }
    if (name === "twice") {
      kept.response ??= new Response(null, { status: 101, webSocket: new WebSocketPair()[0] });
      return kept.response;
    }
    if (request.headers.get("upgrade") !== "websocket") return new Response("a WebSocket is expected", { status: 426 });
    return storage.run(`the context of ${name}`, () => upgrade(request, context, name));
  },
};
