#!/usr/bin/env python3
"""Hearth beside Deno and Bun over HTTP, in one run: CPU time per request, and its ratio to the best.

    bench/http.py [--rounds 3] [--seconds 5] [--loads hello,json,stream] [--peers hearth,serve,deno,bun]

`hearth` is `hearth run`, one process with one app; `serve` is `hearth serve`: control and cell, routing, counters.

Servers run on core 0, wrk on core 1; rounds go round over the servers, so that a disturbance does not fall on one of them
alone. The median over the rounds counts: wrk's own core is the limit of raw requests per second, so what is compared is the
server's CPU time. Needs wrk, a release build of hearth, and `npm install --prefix bench --ignore-scripts` for the peers.
"""
import argparse, os, pathlib, random, socket, statistics, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
MODULES = HERE / "node_modules"
SERVERS = {
    "hearth": [HERE.parent / "target/release/hearth", "run", "{worker}", "--listen", "127.0.0.1:{port}"],
    "serve": [HERE.parent / "target/release/hearth", "serve", "{apps}", "--listen", "127.0.0.1:{port}", "--admin", "off",
              "--data", "{data}"],
    "deno": [MODULES / "@deno/linux-x64-glibc/deno", "serve", "--quiet", "--no-config", "--no-lock", "--host", "127.0.0.1",
             "--port", "{port}", "{worker}"],
    "bun": [MODULES / "@oven/bun-linux-x64/bin/bun", HERE / "bun.js", "{worker}", "{port}"],
}
PAYLOAD = ('{"id":7,"title":"a warm hearth","items":[' +
           ",".join(f'{{"n":{n},"name":"item {n}","price":{n}.5,"tags":["a","b"]}}' for n in range(18)) + "]}")
CONNECTIONS = {"hello": 32, "json": 32, "stream": 8}
SCRIPT = 'wrk.method = "POST"\nwrk.headers["content-type"] = "application/json"\nwrk.body = [[%s]]\n' % PAYLOAD


def cpu_seconds(pid):
    """Of the process and its children."""
    lists = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for one in lists for child in one.read_text().split()]
    return own_seconds(pid) + sum(own_seconds(child) for child in children)


def own_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wrk(load, port, seconds, script, path):
    url = f"http://127.0.0.1:{port}{path}"
    command = ["taskset", "-c", "1", "wrk", "-t1", f"-c{CONNECTIONS[load]}", f"-d{seconds}s", url]
    if load == "json":
        command[-1:-1] = ["-s", script]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in out or "Socket errors" in out:
        print(out, file=sys.stderr)
    return next(int(line.split()[0]) for line in out.splitlines() if "requests in" in line)


def measure(server, load, seconds, script):
    """Microseconds of the server's CPU time per request."""
    port = random.randrange(15000, 30000)
    worker = HERE / f"workers/{load}.js"
    folder = tempfile.TemporaryDirectory()
    app = pathlib.Path(folder.name) / "apps" / load
    app.mkdir(parents=True)
    (app / "index.js").write_text(worker.read_text())
    places = {"worker": worker, "port": port, "apps": app.parent, "data": pathlib.Path(folder.name) / "data"}
    command = [str(part).format(**places) for part in SERVERS[server]]
    path = f"/{load}/" if server == "serve" else "/"
    process = subprocess.Popen(["taskset", "-c", "0", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(400):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        wrk(load, port, 2, script, path)
        before = cpu_seconds(process.pid)
        requests = wrk(load, port, seconds, script, path)
        return (cpu_seconds(process.pid) - before) * 1e6 / requests
    finally:
        process.terminate()
        process.wait()
        folder.cleanup()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--loads", default="hello,json,stream")
    parser.add_argument("--peers", default="hearth,serve,deno,bun")
    arguments = parser.parse_args()
    servers = [name for name in arguments.peers.split(",") if pathlib.Path(SERVERS[name][0]).exists()]
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPT)
        script.flush()
        for load in arguments.loads.split(","):
            times = {name: [] for name in servers}
            for _ in range(arguments.rounds):
                for name in servers:
                    times[name].append(measure(name, load, arguments.seconds, script.name))
            median = {name: statistics.median(values) for name, values in times.items()}
            best = min(median.values())
            for name in servers:
                spread = f"{min(times[name]):.2f} to {max(times[name]):.2f}"
                print(f"{load:8} {name:8} {median[name]:8.2f} us of CPU a request ({spread}), {best / median[name]:.2f} of the best")


main()
