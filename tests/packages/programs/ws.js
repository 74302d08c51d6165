// ws: a server on node:http's upgrade, and a client of it.
import { createServer } from "node:http";
import { once } from "node:events";
import WebSocket, { WebSocketServer } from "ws";
import { answer } from "../program.js";

const server = createServer(async (request, response) => response.end(await answer(run, `http://${request.headers.host}`)));
const sockets = new WebSocketServer({ server, path: "/chat" });
sockets.on("connection", (socket, request) => {
  socket.send(`hello ${request.url}`);
  socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
});
server.listen(process.env.PORT ?? 3000);

async function run(same, origin) {
  const socket = new WebSocket(`${origin.replace("http", "ws")}/chat?name=Ada`);
  const [hello] = await once(socket, "message");
  same("hello", hello.toString(), "hello /chat?name=Ada");
  socket.send("text");
  const [echo, isBinary] = await once(socket, "message");
  same("text", [echo.toString(), isBinary], ["text", false]);
  socket.send(Buffer.from([1, 2]));
  const [bytes] = await once(socket, "message");
  same("bytes", bytes, [1, 2]);
  socket.close(4001, "enough");
  const [code] = await once(socket, "close");
  same("closed", code, 4001);
}
