"""Serves the files of the checkout to tests that fetch some. The tests' own server does much more (handlers in Python, several
origins, TLS): what needs that fails here, in every runtime alike."""
import http.server, mimetypes, pathlib, re, threading, urllib.parse

TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".json": "application/json", ".wasm": "application/wasm", ".txt": "text/plain"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_any(self):
        length = int(self.headers.get("content-length") or 0)
        self.rfile.read(length)
        path = (self.server.checkout / self.path.split("?")[0].lstrip("/")).resolve()
        if not path.is_relative_to(self.server.checkout) or not path.is_file() or path.suffix == ".py":
            self.answer(404, [("content-type", "text/plain")], b"not found")
            return
        headers = extra_headers(path)
        if not any(name.lower() == "content-type" for name, _ in headers):
            kind = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            headers.append(("content-type", kind))
        status, headers = piped(self.path, headers)
        self.answer(status, headers, path.read_bytes())

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_PATCH = handle_any

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in [*headers, ("access-control-allow-origin", "*"), ("content-length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_):
        pass


def extra_headers(path):
    """Of a file `x.headers` beside `x`."""
    beside = path.with_name(path.name + ".headers")
    if not beside.is_file():
        return []
    lines = [line.split(":", 1) for line in beside.read_text(errors="replace").splitlines() if ":" in line]
    return [(name.strip(), value.strip()) for name, value in lines]


def piped(address, headers):
    """`?pipe=header(name,value)|status(404)`: the two of the tests' own server's pipes that many tests want."""
    status = 200
    pipes = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query, keep_blank_values=True).get("pipe", [""])[0]
    for name, arguments in re.findall(r"(\w+)\(([^)]*)\)", pipes):
        parts = [part.strip() for part in arguments.split(",")]
        if name == "status":
            status = int(parts[0])
        elif name == "header" and len(parts) > 1:
            headers = [header for header in headers if header[0].lower() != parts[0].lower()]
            headers.append((parts[0], ",".join(parts[1:])))
    return status, headers


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """Clients go away in the midst of answers: that is theirs."""


def serve(checkout: pathlib.Path):
    """The origin at which the checkout is served, until the process ends."""
    server = Server(("127.0.0.1", 0), Handler)
    server.checkout = checkout
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"
