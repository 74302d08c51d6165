// node:http within the worker: servers and clients in memory, messages, headers, events, fetch() to a server of the app.

import { test, ok, equal, same, throws, rejects } from "./harness.js";
import http, { METHODS, STATUS_CODES, validateHeaderName, validateHeaderValue } from "node:http";
import https from "node:https";
import http2 from "node:http2";
import { AsyncLocalStorage } from "node:async_hooks";
import { Duplex } from "node:stream";

export { default } from "./harness.js";

/** A server that listens on a port of its own. */
async function listen(handler, options = {}) {
  const server = http.createServer(options, handler);
  await new Promise((resolve) => server.listen(0, resolve));
  return { server, port: server.address().port, [Symbol.dispose]: () => server.close() };
}

/** The response, with its body as text. */
function ask(port, options = {}, body = undefined) {
  return new Promise((resolve, reject) => {
    const request = http.request({ port, ...options }, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part));
      response.on("end", () => resolve({ response, status: response.statusCode, headers: response.headers, text: Buffer.concat(parts).toString() }));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

test("a request and its response", async () => {
  using at = await listen((request, response) => {
    response.setHeader("X-Method", request.method);
    response.setHeader("Set-Cookie", ["a=1", "b=2"]);
    response.writeHead(201, "Made", { "Content-Type": "text/plain" });
    response.end(`${request.url} ${request.headers["x-given"]} ${request.headers.host}`);
  });
  const { response, status, headers, text } = await ask(at.port, { path: "/a?b=c", headers: { "X-Given": "yes" } });
  equal(status, 201);
  equal(response.statusMessage, "Made");
  equal(headers["x-method"], "GET");
  same(headers["set-cookie"], ["a=1", "b=2"]);
  equal(headers["transfer-encoding"], "chunked");
  equal(text, `/a?b=c yes localhost:${at.port}`);
  ok(response.rawHeaders.includes("X-Method"));
  ok(response.complete);
  same(response.headersDistinct["set-cookie"], ["a=1", "b=2"]);
});

test("bodies are streams both ways", async () => {
  using at = await listen((request, response) => request.pipe(response));
  const big = "x".repeat(300_000);
  const { text, headers } = await ask(at.port, { method: "POST" }, big);
  equal(text.length, big.length);
  equal(headers["transfer-encoding"], "chunked");
  const made = http.request({ port: at.port, method: "PUT" });
  made.write("one ");
  setTimeout(() => made.end("two"), 1);
  const [response] = await new Promise((resolve) => made.once("response", (...all) => resolve(all)));
  let echoed = "";
  response.setEncoding("utf8");
  for await (const part of response) echoed += part;
  equal(echoed, "one two");
});

test("write says when to wait, and drain when to go on", async () => {
  let waited = 0;
  using at = await listen((_request, response) => {
    let left = 40;
    const more = () => {
      while (left-- > 0) {
        if (!response.write(Buffer.alloc(16384, left))) {
          waited++;
          response.once("drain", more);
          return;
        }
      }
      response.end();
    };
    more();
  });
  const { text } = await ask(at.port);
  equal(text.length, 40 * 16384);
  ok(waited > 0);
});

test("no body with HEAD, 204 and 304", async () => {
  using at = await listen((request, response) => {
    response.statusCode = request.url === "/" ? 200 : Number(request.url.slice(1));
    response.end("hello");
  });
  const head = await ask(at.port, { method: "HEAD" });
  equal(head.text, "");
  equal(head.headers["content-length"], "5");
  for (const status of [204, 304]) equal((await ask(at.port, { path: `/${status}` })).text, "", status);
});

test("headers are checked, and closed once sent", async () => {
  let problem;
  using at = await listen((_request, response) => {
    try {
      throws(() => response.setHeader("a b", "c"), { code: "ERR_INVALID_HTTP_TOKEN" });
      throws(() => response.setHeader("a", "b\r\nc: d"), { code: "ERR_INVALID_CHAR" });
      throws(() => response.setHeader("a", undefined), { code: "ERR_HTTP_INVALID_HEADER_VALUE" });
      throws(() => response.writeHead(99), { code: "ERR_HTTP_INVALID_STATUS_CODE" });
      throws(() => response.writeHead(200, "a\nb"), { code: "ERR_INVALID_CHAR" });
      response.statusMessage = "OK";
      response.setHeader("One", 1).appendHeader("one", "2");
      same(response.getHeader("ONE"), [1, "2"]);
      same(response.getHeaderNames(), ["one"]);
      same(response.getRawHeaderNames(), ["One"]);
      response.setHeaders(new Map([["two", "2"]]));
      ok(response.hasHeader("Two"));
      response.removeHeader("two");
      equal(response.headersSent, false);
      response.flushHeaders();
      equal(response.headersSent, true);
      throws(() => response.setHeader("late", "1"), { code: "ERR_HTTP_HEADERS_SENT" });
      throws(() => response.writeHead(200), { code: "ERR_HTTP_HEADERS_SENT" });
      ok(response._header.startsWith("HTTP/1.1 200 OK\r\nOne: 1\r\nOne: 2\r\n"), response._header);
    } catch (error) {
      problem = error;
    }
    response.end();
  });
  const { headers } = await ask(at.port);
  if (problem) throw problem;
  equal(headers.one, "1, 2");
  throws(() => validateHeaderName(""), { code: "ERR_INVALID_HTTP_TOKEN" });
  throws(() => validateHeaderValue("a", "\u2713"), { code: "ERR_INVALID_CHAR" });
});

test("finish and close come in order, once", async () => {
  const events = [];
  let closed;
  const done = new Promise((resolve) => (closed = resolve));
  using at = await listen((_request, response) => {
    for (const name of ["finish", "close"]) response.on(name, () => events.push(name));
    response.on("close", closed);
    response.end("x", () => events.push("callback"));
    equal(response.writableEnded, true);
  });
  await ask(at.port);
  await done;
  same(events, ["finish", "callback", "close"]);
});

test("a response that is written after its end", async () => {
  const codes = [];
  let told;
  const both = new Promise((resolve) => (told = resolve));
  using at = await listen((_request, response) => {
    response.on("error", (error) => {
      codes.push(error.code);
      told();
    });
    response.end("x");
    response.write("y");
  });
  await ask(at.port);
  await both;
  same(codes, ["ERR_STREAM_WRITE_AFTER_END"]);
});

test("strictContentLength", async () => {
  let code;
  using at = await listen((_request, response) => {
    response.strictContentLength = true;
    response.setHeader("content-length", 3);
    try {
      response.write("four");
    } catch (error) {
      ({ code } = error);
    }
    response.destroy();
  });
  await rejects(ask(at.port), { code: "ECONNRESET" });
  equal(code, "ERR_HTTP_CONTENT_LENGTH_MISMATCH");
});

test("a server that destroys the connection, and a client that does", async () => {
  let gone;
  const told = new Promise((resolve) => (gone = resolve));
  using at = await listen((request, response) => {
    if (request.url === "/hang") response.on("close", gone);
    else request.socket.destroy();
  });
  await rejects(ask(at.port), { code: "ECONNRESET", message: "socket hang up" });
  const made = http.get({ port: at.port, path: "/hang" });
  const failed = new Promise((resolve) => made.on("error", resolve));
  setTimeout(() => made.destroy(), 5);
  equal((await failed).code, "ECONNRESET");
  await told;
  equal(made.destroyed, true);
});

test("abort by a signal", async () => {
  using at = await listen(() => {});
  const controller = new AbortController();
  const made = http.get({ port: at.port, signal: controller.signal });
  const failed = new Promise((resolve) => made.on("error", resolve));
  controller.abort();
  equal((await failed).name, "AbortError");
});

test("a client's timeout is an event", async () => {
  using at = await listen(() => {});
  const made = http.get({ port: at.port, timeout: 5 });
  await new Promise((resolve) => made.on("timeout", resolve));
  made.on("error", () => {});
  made.destroy();
});

test("100-continue, early hints and expectations", async () => {
  const seen = [];
  using at = await listen((request, response) => {
    response.writeEarlyHints({ link: "</a.css>; rel=preload" });
    response.end(request.headers.expect);
  });
  at.server.on("checkContinue", (request, response) => {
    seen.push("checkContinue");
    response.writeContinue();
    at.server.emit("request", request, response);
  });
  const made = http.request({ port: at.port, method: "POST", headers: { expect: "100-continue" } });
  made.on("continue", () => {
    seen.push("continue");
    made.end("body");
  });
  made.on("information", ({ statusCode }) => seen.push(statusCode));
  await new Promise((resolve) => made.on("response", (response) => response.resume().on("end", resolve)));
  same(seen, ["checkContinue", "continue", 100, 103]);
  equal((await ask(at.port, { headers: { expect: "other" } })).status, 417);
});

test("arguments of a client", async () => {
  using at = await listen((request, response) => response.end(`${request.method} ${request.url} ${request.headers.authorization}`));
  const url = new URL(`http://user:pass@localhost:${at.port}/p?q#h`);
  const text = await new Promise((resolve) => {
    http.get(url, { method: "OPTIONS" }, (response) => response.on("data", (part) => resolve(String(part))));
  });
  equal(text, `OPTIONS /p?q Basic ${btoa("user:pass")}`);
  throws(() => http.request({ path: "/a b" }), { code: "ERR_UNESCAPED_CHARACTERS" });
  throws(() => http.request({ protocol: "ftp:" }), { code: "ERR_INVALID_PROTOCOL" });
  throws(() => http.request({ method: "A B" }), { code: "ERR_INVALID_HTTP_TOKEN" });
  throws(() => http.request({ host: 1 }), { code: "ERR_INVALID_ARG_TYPE" });
  throws(() => http.request({ agent: {} }), { code: "ERR_INVALID_ARG_TYPE" });
  throws(() => http.request("nonsense"), { code: "ERR_INVALID_URL" });
});

test("a request that nothing answers is refused by the policy, in words", async () => {
  const error = await rejects(ask(1, { host: "127.0.0.1" }));
  ok(/egress/.test(error.message), error.message);
  equal(error.code, "EACCES");
});

test("fetch() reaches servers of the app, and follows their redirects", async () => {
  using at = await listen((request, response) => {
    if (request.url === "/from") response.writeHead(302, { location: "/to" }).end();
    else request.pipe(response.writeHead(200, { "x-path": request.url }));
  });
  const response = await fetch(`http://localhost:${at.port}/echo`, { method: "POST", body: "hello" });
  equal(response.status, 200);
  equal(await response.text(), "hello");
  equal((await fetch(`http://127.0.0.1:${at.port}/from`)).headers.get("x-path"), "/to");
  equal((await fetch(`http://127.0.0.1:${at.port}/from`, { redirect: "manual" })).status, 302);
});

test("each request has its own async context", async () => {
  const storage = new AsyncLocalStorage();
  using at = await listen((request, response) => {
    storage.run(request.url, () => setTimeout(() => response.end(storage.getStore()), 1));
  });
  const answers = await Promise.all(["/1", "/2", "/3"].map((path) => ask(at.port, { path })));
  same(answers.map(({ text }) => text), ["/1", "/2", "/3"]);
});

test("an upgrade gives both sides a connection", async () => {
  using at = await listen((_request, response) => response.end());
  at.server.on("upgrade", (request, socket, head) => {
    equal(request.headers.upgrade, "echo");
    equal(head.length, 0);
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\nfirst ");
    socket.pipe(socket);
  });
  const made = http.get({ port: at.port, headers: { connection: "Upgrade", upgrade: "echo" } });
  const [response, socket, head] = await new Promise((resolve) => made.on("upgrade", (...all) => resolve(all)));
  equal(response.statusCode, 101);
  let text = String(head);
  const ended = new Promise((resolve) => socket.on("end", resolve));
  socket.on("data", (part) => (text += part));
  socket.end("second");
  await ended;
  equal(text, "first second");
});

/** Two ends of a connection. */
function pair() {
  class Side extends Duplex {
    _read() {}
    _write(chunk, _encoding, callback) {
      this.other.push(chunk);
      callback();
    }
    _final(callback) {
      this.other.push(null);
      callback();
    }
  }
  const [one, two] = [new Side(), new Side()];
  one.other = two;
  two.other = one;
  return [one, two];
}

/** What the other side answers until it ends. */
async function rawExchange(server, text, size = text.length) {
  const [near, far] = pair();
  server.emit("connection", far);
  for (let at = 0; at < text.length; at += size) near.write(text.slice(at, at + size));
  let answer = "";
  for await (const part of near) answer += part;
  return answer;
}

test("a connection of the app's own is read as HTTP/1.1", async () => {
  using at = await listen((request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => response.end(`[${request.method} ${request.url} ${body}]`));
  });
  const requests = "POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: r\r\n\r\n" +
    "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nfg\r\nGET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  // However the bytes come, the answers are the same and in order.
  for (const size of [requests.length, 64, 7, 2, 1]) {
    const answer = await rawExchange(at.server, requests, size);
    same(answer.match(/\[.*?\]/g), ["[POST /1 abcde]", "[POST /2 fg]", "[GET /3 ]"], `${size}`);
  }
});

test("what is no HTTP is refused: framing that two could read in two ways above all", async () => {
  using at = await listen((_request, response) => response.end("reached"));
  const bad = [
    "GARBAGE\r\n\r\n",
    "GET / HTTP/1.1\r\n\r\n",
    "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nBad Header: x\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n folded\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\na",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    `GET / HTTP/1.1\r\nHost: a\r\nX: ${"y".repeat(20_000)}\r\n\r\n`,
  ];
  for (const text of bad) {
    const errors = [];
    const onError = (error, socket) => {
      errors.push(error.code);
      socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
    };
    at.server.on("clientError", onError);
    const answer = await rawExchange(at.server, text);
    at.server.off("clientError", onError);
    equal(errors.length, 1, text.slice(0, 60));
    ok(!answer.includes("reached"), text.slice(0, 60));
  }
});

test("a client over a connection that it makes itself", async () => {
  const [near, far] = pair();
  far.once("data", (head) => {
    ok(String(head).startsWith("GET /x HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n"), String(head));
    far.write("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 Fine\r\nContent-Length: 5\r\nX: 1\r\n\r\nhel");
    setTimeout(() => far.write("lo"), 1);
  });
  const { text, response } = await ask(80, { host: "example.com", path: "/x", createConnection: () => near });
  equal(text, "hello");
  equal(response.statusMessage, "Fine");
  const [cut, other] = pair();
  other.once("data", () => other.end("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"));
  await rejects(ask(80, { host: "example.com", createConnection: () => cut }), { code: "ECONNRESET" });
});

test("servers by ports and paths", async () => {
  using at = await listen((_request, response) => response.end("port"));
  const taken = http.createServer();
  const error = await new Promise((resolve) => taken.on("error", resolve).listen(at.port));
  equal(error.code, "EADDRINUSE");
  throws(() => at.server.listen(0), { code: "ERR_SERVER_ALREADY_LISTEN" });
  throws(() => http.createServer().listen(70000), { code: "ERR_SOCKET_BAD_PORT" });
  const byPath = http.createServer((_request, response) => response.end("path")).listen("/tmp/a.sock");
  equal(byPath.address(), "/tmp/a.sock");
  equal((await ask(80, { socketPath: "/tmp/a.sock" })).text, "path");
  await new Promise((resolve) => byPath.close(resolve));
  equal(byPath.listening, false);
  const notRunning = await new Promise((resolve) => byPath.close(resolve));
  equal(notRunning.code, "ERR_SERVER_NOT_RUNNING");
});

test("tables, agents and https", () => {
  equal(STATUS_CODES[418], "I'm a Teapot");
  ok(METHODS.includes("M-SEARCH") && METHODS.includes("QUERY"));
  equal(http.globalAgent.protocol, "http:");
  equal(https.globalAgent.defaultPort, 443);
  ok(new https.Agent({ keepAlive: true }) instanceof http.Agent);
  equal(http.Agent({ maxSockets: 3 }).maxSockets, 3);
  ok(https.createServer() instanceof http.Server);
  throws(() => https.request({ protocol: "http:" }), { code: "ERR_INVALID_PROTOCOL" });
  equal(http2.constants.HTTP2_HEADER_PATH, ":path");
  equal(http2.constants.HTTP_STATUS_NOT_FOUND, 404);
  throws(() => http2.connect("https://example.com"), /node:http2: connect is not available in Hearth/);
});

test("messages can be made the old way", () => {
  function Own(request) {
    http.ServerResponse.call(this, request);
  }
  Object.setPrototypeOf(Own.prototype, http.ServerResponse.prototype);
  const response = new Own({ method: "GET", httpVersionMajor: 1, httpVersionMinor: 1 });
  response.setHeader("a", "b");
  response.end("waits for a socket");
  ok(response.finished);
  ok(Object.create(http.IncomingMessage.prototype) instanceof http.IncomingMessage);
});
