// Sockets that an app opens itself.

function attempt(f) {
  try {
    f();
    return "fine";
  } catch (error) {
    return error.name;
  }
}

/** What `new WebSocket` takes and refuses. Nothing of this connects. */
function construct() {
  const make = (...args) => attempt(() => new WebSocket(...args).close());
  const socket = new WebSocket("ws://127.0.0.1:1/path");
  const seen = {
    constants: [WebSocket.CONNECTING, WebSocket.OPEN, WebSocket.CLOSING, WebSocket.CLOSED].join(),
    instance: [socket.CONNECTING, socket.OPEN, socket.CLOSING, socket.CLOSED].join(),
    none: make(),
    fragment: make("ws://127.0.0.1:1/#x"),
    ftp: make("ftp://127.0.0.1/"),
    garbage: make("not a url"),
    http: new WebSocket("http://127.0.0.1:1").url,
    https: new WebSocket("https://127.0.0.1:1/x?y").url,
    protocol: make("ws://127.0.0.1:1/", "a b"),
    protocols: make("ws://127.0.0.1:1/", ["chat", "CHAT"]),
    state: socket.readyState,
    binaryType: socket.binaryType,
    sendEarly: attempt(() => socket.send("x")),
    accept: attempt(() => socket.accept()),
    close500: attempt(() => socket.close(500)),
    close1011: attempt(() => socket.close(1011)),
    longReason: attempt(() => socket.close(1000, "ä".repeat(62))),
    close: attempt(() => socket.close(3000, "x".repeat(123))),
    closing: socket.readyState,
  };
  return Response.json(seen);
}

/** All that happens to a socket that sends two messages, hears two and closes. */
async function talk(url, protocols) {
  const heard = [];
  const socket = new WebSocket(url, protocols);
  await new Promise((resolve) => {
    socket.onopen = () => {
      heard.push(`open ${socket.protocol} ${socket.readyState}`);
      socket.send("text");
      socket.send(new Uint8Array([1, 2, 3]));
    };
    socket.onmessage = ({ data, origin }) => {
      heard.push(typeof data === "string" ? `${data} from ${origin === new URL(url).origin}` : `${data.constructor.name} ${data.size}`);
      if (typeof data !== "string") socket.close(3001, "done");
    };
    socket.onerror = ({ message }) => heard.push(`error ${message}`);
    socket.onclose = ({ code, reason, wasClean }) => {
      heard.push(`close ${code} ${reason} ${wasClean} ${socket.readyState}`);
      resolve();
    };
  });
  return Response.json(heard);
}

async function upgrade(url) {
  const response = await fetch(url, { headers: { Upgrade: "websocket" } });
  const socket = response.webSocket;
  if (socket === null) return Response.json([response.status, await response.text()]);
  const heard = [response.status, response.headers.get("x-app"), socket.readyState];
  await new Promise((resolve) => {
    socket.addEventListener("message", ({ data }) => {
      heard.push(data);
      socket.close(1001);
    });
    socket.addEventListener("close", ({ code }) => {
      heard.push(code);
      resolve();
    });
    socket.accept();
    socket.send("by fetch");
  });
  return Response.json(heard);
}

export default {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const url = searchParams.get("url");
    if (pathname === "/construct") return construct();
    if (pathname === "/talk") return talk(url, searchParams.get("protocol") ?? undefined);
    if (pathname === "/fetch") return upgrade(url);
    if (pathname === "/cancel") {
      const socket = new WebSocket(url);
      const ended = new Promise((resolve) => (socket.onclose = ({ code }) => resolve(new Response(`${code}`))));
      socket.close();
      return ended;
    }
    return fetch(url, request);
  },
};
