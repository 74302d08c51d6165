#!/usr/bin/env python3
"""What cells cost, and how fast another takes over.

    bench/cells.py [--rounds 5] [--hearth target/release/hearth]

- start: `hearth serve` to the first answer, and a cell's own start (a replacement without a standby);
- takeover: from a crash of the cell (an app's abort, SIGKILL) or its freezing (SIGSTOP) to the next answer of another app, on a new connection;
- hop: time per request of the same app in the main cell and in a cell of its own, one client that keeps its connection;
- memory of control, of a main cell and of a standby (resident, megabytes).
"""
import pathlib, sys

HERE = pathlib.Path(__file__).resolve().parent
# `http` is meant to be Python's own, not the bench beside this one.
sys.path = [path for path in sys.path if pathlib.Path(path).resolve() != HERE]
import argparse, http.client, os, signal, socket, statistics, subprocess, tempfile, time

CULPRIT = """export default { fetch(request) {
  return new Response(new URL(request.url).pathname === "/do" ? String("x".repeat(2 ** 27 + 1e7).split("").length) : "fine");
} };"""
WELL = 'export default { fetch: () => new Response("well") };'


class Server:
    def __init__(self, program, folder, apps, *flags):
        for name, text in apps.items():
            path = pathlib.Path(folder) / "apps" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.port, self.admin = free_port(), free_port()
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [program, "serve", f"{folder}/apps", "--listen", f"127.0.0.1:{self.port}", "--admin", f"127.0.0.1:{self.admin}",
             "--admin-token", "bench", "--data", f"{folder}/data", *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.until("/well/")
        self.started = time.perf_counter() - self.began

    def until(self, path):
        """Asks on new connections until there is an answer."""
        while True:
            try:
                client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
                client.request("GET", path)
                if client.getresponse().status == 200:
                    return
            except OSError:
                time.sleep(0.0005)

    def ask(self, method, path, body=b""):
        client = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=60)
        client.request(method, path, body, headers={"authorization": "Bearer bench"})
        answer = client.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text}")
        return text

    def metric(self, name):
        lines = [line.split() for line in self.ask("GET", "/metrics").splitlines()]
        return next(int(float(line[1])) for line in lines if line and line[0] == name)

    def await_standby(self):
        while self.metric("hearth_cells_standby") < 1:
            time.sleep(0.02)

    def cells(self):
        """The oldest first: the one that serves, then the standby."""
        lists = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return sorted({int(child) for one in lists for child in one.read_text().split()})

    def end(self):
        self.process.terminate()
        self.process.wait()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def resident(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmRSS")) / 1024


def takeover(program, how):
    """Milliseconds until another app is answered."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(program, folder, {"well/index.js": WELL, "culprit/index.js": CULPRIT})
        server.until("/culprit/")
        server.await_standby()
        if how == "abort":
            client = socket.create_connection(("127.0.0.1", server.port))
            client.sendall(b"GET /culprit/do HTTP/1.1\r\nhost: bench\r\n\r\n")
            # The time counts from when the cell is gone: until then it answers.
            lost = server.cells()[0]
            while pathlib.Path(f"/proc/{lost}").exists() and state(lost) not in "ZX":
                began = time.perf_counter()
                server.until("/well/")
        else:
            os.kill(server.cells()[0], how)
            began = time.perf_counter()
        server.until("/well/")
        passed = time.perf_counter() - began
        server.end()
        return passed * 1000


def state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def per_request(server, path, count=3000):
    """Microseconds, the median."""
    client, times = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30), []
    for _ in range(count):
        began = time.perf_counter()
        client.request("GET", path)
        client.getresponse().read()
        times.append(time.perf_counter() - began)
    return statistics.median(times[count // 10:]) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hearth", default=str(HERE.parent / "target/release/hearth"))
    given = parser.parse_args()

    starts, replaced, hops, sizes = [], [], [], []
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory() as folder:
            apps = {"well/index.js": WELL, "away/index.js": WELL, "away/manifest.yaml": "isolation: process\n"}
            server = Server(given.hearth, folder, apps)
            starts.append(server.started * 1000)
            server.until("/away/")
            server.await_standby()
            hops.append((per_request(server, "/well/"), per_request(server, "/away/")))
            sizes.append((resident(server.process.pid), [resident(cell) for cell in server.cells()]))
            server.end()
        with tempfile.TemporaryDirectory() as folder:
            server = Server(given.hearth, folder, {"well/index.js": WELL}, "--standby", "0")
            began = time.perf_counter()
            server.ask("POST", "/admin/replace")
            replaced.append((time.perf_counter() - began) * 1000)
            server.end()
    median = statistics.median
    print(f"start to the first answer      {median(starts):8.1f} ms")
    print(f"a cell, started and accepting  {median(replaced):8.1f} ms")
    for name, how in [("an abort", "abort"), ("SIGKILL", signal.SIGKILL), ("SIGSTOP", signal.SIGSTOP)]:
        times = [takeover(given.hearth, how) for _ in range(given.rounds)]
        print(f"takeover after {name:10}      {median(times):8.1f} ms, at worst {max(times):.1f} ms")
    here, away = median(one for one, _ in hops), median(other for _, other in hops)
    print(f"a request here {here:.0f} µs, over the hop {away:.0f} µs: the hop costs {away - here:.0f} µs")
    print(f"control {sizes[-1][0]:.0f} MB; cells (main, cordon, standby, as they started) "
          f"{', '.join(f'{size:.0f}' for size in sizes[-1][1])} MB")


if __name__ == "__main__":
    main()
