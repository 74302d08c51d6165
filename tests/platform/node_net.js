import http from "node:http";
import net from "node:net";
import { equal, ok, same, test, throws } from "./harness.js";
export { default } from "./harness.js";

const event = (emitter, name) => new Promise((resolve) => emitter.once(name, (...values) => resolve(values)));

async function listening(options, onConnection) {
  const server = net.createServer(options, onConnection);
  server.listen(0);
  await event(server, "listening");
  return server;
}

test("addresses are told apart", () => {
  for (const address of ["127.0.0.1", "0.0.0.0", "255.255.255.255"]) equal(net.isIP(address), 4, address);
  for (const address of ["::", "::1", "1::", "fe80::1%eth0", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::"]) {
    equal(net.isIP(address), 6, address);
  }
  for (const text of ["", "1.2.3", "1.2.3.4.", "01.2.3.4", "256.1.1.1", ":::", "1::2::3", "::1.2.3", "1:2:3:4:5:6:7:8:9", "g::", "::1%"]) {
    equal(net.isIP(text), 0, text);
  }
  equal(net.isIPv4("1.2.3.4"), true);
  equal(net.isIPv6("1.2.3.4"), false);
});

test("a block list has addresses, ranges and subnets", () => {
  const list = new net.BlockList();
  list.addAddress("1.1.1.1");
  list.addRange("10.0.0.5", "10.0.0.9");
  list.addSubnet("8592:757c:efae:4e45::", 64, "ipv6");
  for (const [address, family] of [["1.1.1.1"], ["10.0.0.7"], ["::ffff:1.1.1.1", "ipv6"], ["8592:757c:efae:4e45::1", "ipv6"]]) {
    ok(list.check(address, family), address);
  }
  for (const [address, family] of [["1.1.1.2"], ["10.0.0.10"], ["8592:757c:efae:4e46::1", "ipv6"]]) ok(!list.check(address, family), address);
  same(list.rules, ["Subnet: IPv6 8592:757c:efae:4e45::/64", "Range: IPv4 10.0.0.5-10.0.0.9", "Address: IPv4 1.1.1.1"]);
  throws(() => list.addRange("10.0.0.9", "10.0.0.5"), { code: "ERR_INVALID_ARG_VALUE" });
});

test("a server of the worker is reached in memory", async () => {
  const server = await listening((socket) => socket.pipe(socket));
  const { port } = server.address();
  const socket = net.connect(port);
  equal(socket.readyState, "opening");
  await event(socket, "connect");
  equal(socket.remotePort, port);
  equal(socket.remoteFamily, "IPv4");
  socket.setEncoding("utf8");
  let text = "";
  socket.on("data", (data) => { text += data; });
  socket.write("hello ");
  socket.end("world");
  same(await event(socket, "close"), [false]);
  equal(text, "hello world");
  equal(socket.bytesRead, 11);
  equal(socket.bytesWritten, 11);
  equal(socket.destroyed, true);
  server.close();
  await event(server, "close");
});

test("half of a connection may stay", async () => {
  const server = await listening({ allowHalfOpen: true }, (socket) => {
    socket.on("end", () => socket.end("goodbye"));
    socket.resume();
  });
  const socket = net.connect({ port: server.address().port, host: "::1", allowHalfOpen: true });
  socket.end("hello");
  same((await event(socket, "data"))[0].toString(), "goodbye");
  await event(socket, "close");
  server.close();
});

test("what is not read holds its writer back", async () => {
  let accepted;
  const server = await listening((socket) => { accepted = socket; socket.pause(); });
  const socket = net.connect(server.address().port);
  await event(socket, "connect");
  while (accepted === undefined) await null;
  let more = true;
  let written = 0;
  for (; more && written < 1000; written++) more = socket.write(Buffer.alloc(16384));
  ok(written < 100, `${written} pieces were taken`);
  let read = 0;
  accepted.on("data", (data) => { read += data.length; });
  accepted.resume();
  await event(socket, "drain");
  socket.end();
  await event(accepted, "end");
  equal(read, written * 16384);
  server.close();
});

test("a port without a server, and one that is taken", async () => {
  const server = await listening(() => {});
  const { port } = server.address();
  const second = net.createServer().listen(port);
  const [taken] = await event(second, "error");
  same([taken.code, taken.syscall, taken.port], ["EADDRINUSE", "listen", port]);
  throws(() => server.listen(0), { code: "ERR_SERVER_ALREADY_LISTEN" });
  server.close();
  await event(server, "close");
  const [missing] = await event(net.connect("/no/such/socket"), "error");
  same([missing.code, missing.syscall, missing.address], ["ENOENT", "connect", "/no/such/socket"]);
});

test("a path is a name for a server", async () => {
  const server = net.createServer((socket) => socket.end("by path")).listen("/tmp/app.sock");
  await event(server, "listening");
  equal(server.address(), "/tmp/app.sock");
  equal((await event(net.connect("/tmp/app.sock"), "data"))[0].toString(), "by path");
  server.close();
});

test("a connection that is reset, and one too many", async () => {
  const server = await listening((socket) => socket.resetAndDestroy());
  const socket = net.connect(server.address().port);
  socket.resume();
  equal((await event(socket, "error"))[0].code, "ECONNRESET");
  server.close();
  const small = await listening(() => {});
  small.maxConnections = 0;
  const dropped = event(small, "drop");
  net.connect(small.address().port).on("error", () => {});
  equal((await dropped)[0].remoteFamily, "IPv4");
  small.close();
});

test("a server of node:http reads what a socket sends, and has its port alone", async () => {
  const server = http.createServer((request, response) => response.end(JSON.stringify(request.headers.a))).listen(0);
  const { port } = server.address();
  const other = net.createServer();
  other.listen(port);
  const [error] = await event(other, "error");
  equal(error.code, "EADDRINUSE");
  const socket = net.connect(port);
  socket.write(`GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\na: ${" \t".repeat(3000)}b${" ".repeat(8000)}c\t${" ".repeat(1000)}\r\n\r\n`);
  let answer = "";
  for await (const chunk of socket) answer += chunk;
  ok(answer.startsWith("HTTP/1.1 200 OK\r\n"), answer);
  ok(answer.endsWith(JSON.stringify(`b${" ".repeat(8000)}c`)), "the value is trimmed");
  server.close();
  await new Promise((resolve) => other.listen(port, resolve));
  other.close();
});

test("a socket has a time limit", async () => {
  const server = await listening(() => {});
  const socket = net.connect(server.address().port);
  socket.setTimeout(1);
  await event(socket, "timeout");
  socket.destroy();
  throws(() => new net.Socket().setTimeout(-1), { code: "ERR_OUT_OF_RANGE" });
  throws(() => new net.Socket().setTimeout("1"), { code: "ERR_INVALID_ARG_TYPE" });
  server.close();
});

// The port of mail is refused under every policy that does not name it. tests/all/net.rs has the inner addresses.
test("the policy names itself where it refuses", async () => {
  for (const host of ["127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "0x7f.1"]) {
    const [error] = await event(net.connect({ host, port: 25 }), "error");
    same([error.code, error.syscall], ["EACCES", "connect"], host);
    ok(error.message.includes("is denied by the policy"), error.message);
  }
});

test("wrong arguments are refused at once", () => {
  throws(() => net.connect({ port: 70000 }), { code: "ERR_SOCKET_BAD_PORT" });
  throws(() => net.connect({}), { code: "ERR_MISSING_ARGS" });
  throws(() => net.connect({ port: 1, lookup: 1 }), { code: "ERR_INVALID_ARG_TYPE" });
  throws(() => new net.Socket({ fd: 1 }), /file descriptor/);
  throws(() => new net.Socket({ objectMode: true }), { code: "ERR_INVALID_ARG_VALUE" });
});

test("what is written before the connection fails is told so", async () => {
  const socket = net.connect("/nowhere");
  socket.on("error", () => {});
  const error = await new Promise((resolve) => socket.write("x", resolve));
  ok(error instanceof Error);
  const closed = new net.Socket();
  closed.on("error", () => {});
  equal((await new Promise((resolve) => closed.write("x", resolve))).code, "ERR_SOCKET_CLOSED");
});
