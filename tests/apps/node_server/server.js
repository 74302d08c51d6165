// A server of node:http that is started later than the module ends, and another that gets no requests.
const http = require("http");
const { AsyncLocalStorage } = require("async_hooks");

const storage = new AsyncLocalStorage();
let closed = 0;

const server = http.createServer((req, res) => storage.run(req.url, () => handle(req, res)));

function handle(req, res) {
  const { pathname } = new URL(req.url, "http://host");
  switch (pathname) {
    case "/":
      res.setHeader("X-Powered-By", "node:http");
      res.end(`${req.method} ${req.url} ${req.headers.host !== undefined} ${req.socket.remoteAddress}`);
      break;
    case "/echo":
      res.writeHead(201, { "content-type": req.headers["content-type"] ?? "none", "x-encoding": req.headers["transfer-encoding"] ?? "none" });
      req.pipe(res);
      break;
    case "/stream": {
      let count = 0;
      const timer = setInterval(() => {
        res.write(`${count} ${storage.getStore()}\n`);
        if (++count < 3) return;
        clearInterval(timer);
        res.end();
      }, 1);
      break;
    }
    case "/length":
      res.setHeader("content-length", 10);
      res.write("01234");
      setTimeout(() => res.end("56789"), 1);
      break;
    case "/liar":
      res.setHeader("content-length", 5);
      res.write("01234 HTTP/1.1 200 OK\r\n\r\nsmuggled");
      res.end();
      break;
    case "/split":
      try {
        res.setHeader("x", "a\r\nset-cookie: b=c");
      } catch (error) {
        res.end(error.code);
      }
      break;
    case "/empty":
      res.writeHead(204).end();
      break;
    case "/throw":
      throw new Error("thrown by the listener");
    case "/never":
      res.on("close", () => closed++);
      break;
    case "/silent":
      res.write("begun");
      res.on("close", () => closed++);
      break;
    case "/flood": {
      // Never waits.
      const piece = Buffer.alloc(1 << 20);
      for (let i = 0; i < 4096; i++) res.write(piece);
      break;
    }
    case "/destroy":
      req.socket.destroy();
      break;
    case "/closed":
      res.end(`${closed}`);
      break;
    default:
      res.statusCode = 404;
      res.statusMessage = "Nothing Here";
      res.end();
  }
}

setTimeout(() => {
  server.listen(process.env.PORT, () => {
    http.createServer((_req, res) => res.end("the second")).listen(0);
  });
}, 20);
