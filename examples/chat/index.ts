// A chat room: whatever one says, all hear.
const room = new Set<WebSocket>();

export default {
  routes: {
    "/": Hearth.file("./page.html"),
    "/room": (request: Request) => {
      if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
        return new Response("this is for WebSockets\n", { status: 426, headers: { upgrade: "websocket" } });
      }
      const { 0: client, 1: server } = new WebSocketPair();
      enter(server, new URL(request.url).searchParams.get("name") || "guest");
      return new Response(null, { status: 101, webSocket: client });
    },
  },
};

function enter(socket: WebSocket, name: string) {
  socket.accept();
  room.add(socket);
  tell(`${name} came in`);
  socket.addEventListener("message", ({ data }) => tell(`${name}: ${data}`));
  socket.addEventListener("close", () => {
    room.delete(socket);
    tell(`${name} left`);
  });
}

function tell(text: string) {
  for (const socket of room) socket.send(text);
}
