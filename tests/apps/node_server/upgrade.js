// WebSockets by "upgrade" events, as npm's ws does it: the handshake and the frames are written by hand.
import http from "node:http";

const server = http.createServer((_req, res) => res.end("plain"));

server.on("upgrade", (req, socket, head) => {
  if (req.url === "/refuse") {
    socket.end("HTTP/1.1 401 Unauthorized\r\nContent-Length: 3\r\nX-Why: no\r\n\r\nwhy");
    return;
  }
  if (req.url === "/garbage") {
    socket.end("this is no HTTP\r\n\r\n");
    return;
  }
  socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: any\r\n" +
    "Sec-WebSocket-Protocol: chat\r\n\r\n");
  socket.write(frame(1, Buffer.from(`hello ${head.length} ${req.headers["sec-websocket-extensions"]}`)));
  if (req.url === "/bad-frames") socket.write(Buffer.from([0xff, 0x00]));
  // Clients' frames are masked; short ones are all that comes here.
  socket.on("data", (data) => {
    while (data.length > 0) {
      const length = data[1] & 0x7f;
      const payload = data.subarray(6, 6 + length).map((byte, at) => byte ^ data[2 + (at & 3)]);
      const opcode = data[0] & 0x0f;
      if (opcode === 1) {
        // In two pieces, with a ping between them.
        const half = Math.floor(payload.length / 2);
        socket.write(Buffer.concat([Buffer.from([0x01, half]), payload.subarray(0, half)]));
        socket.write(frame(9, Buffer.from("ping")));
        socket.write(Buffer.concat([Buffer.from([0x80, payload.length - half]), payload.subarray(half)]));
      } else if (opcode === 8) {
        socket.end(frame(8, payload));
      }
      data = data.subarray(6 + length);
    }
  });
});
server.listen(3000);

function frame(opcode, payload) {
  return Buffer.concat([Buffer.from([0x80 | opcode, payload.length]), payload]);
}
