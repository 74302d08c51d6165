#!/usr/bin/env python3
"""Hearth beside Deno and Bun over HTTP, in one run: CPU time per request, and its ratio to the best.

    bench/http.py [--rounds 3] [--seconds 5] [--loads hello,json,stream] [--peers run,serve,deno,bun]
                  [--hearth NAME=PATH ...]

`run` is `hearth run`, one process with one app; `serve` is `hearth serve`: control and cells, routing, counters, jail. What
counts is user and system time of the whole tree of processes, so that of control and of the standby is in it. With
`--hearth`, once for each, several builds are compared: `--hearth old=/tmp/hearth --hearth new=target/release/hearth`.

Servers run on core 0, wrk on core 1; rounds go round over the servers, so that a disturbance does not fall on one of them
alone. The median over the rounds counts: wrk's own core is the limit of raw requests per second, so what is compared is the
server's CPU time. Needs wrk, a release build of hearth, and `npm install --prefix bench --ignore-scripts` for the peers.
"""
import argparse, os, pathlib, random, socket, statistics, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
MODULES = HERE / "node_modules"
HEARTH = f"hearth={HERE.parent / 'target/release/hearth'}"
OURS = {
    "run": ["run", "{worker}", "--listen", "127.0.0.1:{port}"],
    "serve": ["serve", "{apps}", "--listen", "127.0.0.1:{port}", "--admin", "off", "--data", "{data}"],
}
OTHERS = {
    "deno": [MODULES / "@deno/linux-x64-glibc/deno", "serve", "--quiet", "--no-config", "--no-lock", "--host", "127.0.0.1",
             "--port", "{port}", "{worker}"],
    "bun": [MODULES / "@oven/bun-linux-x64/bin/bun", HERE / "bun.js", "{worker}", "{port}"],
}
PAYLOAD = ('{"id":7,"title":"a warm hearth","items":[' +
           ",".join(f'{{"n":{n},"name":"item {n}","price":{n}.5,"tags":["a","b"]}}' for n in range(18)) + "]}")
CONNECTIONS = {"hello": 32, "json": 32, "stream": 8}
SCRIPT = 'wrk.method = "POST"\nwrk.headers["content-type"] = "application/json"\nwrk.body = [[%s]]\n' % PAYLOAD


def cpu_seconds(pid):
    """User and system time of the process and all below it."""
    lists = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
    children = [int(child) for one in lists for child in one.read_text().split()]
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    own = [int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:13]]
    return [sum(times) for times in zip(own, *map(cpu_seconds, children))]


def wrk(load, port, seconds, script, path):
    url = f"http://127.0.0.1:{port}{path}"
    command = ["taskset", "-c", "1", "wrk", "-t1", f"-c{CONNECTIONS[load]}", f"-d{seconds}s", url]
    if load == "json":
        command[-1:-1] = ["-s", script]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in out or "Socket errors" in out:
        print(out, file=sys.stderr)
    return next(int(line.split()[0]) for line in out.splitlines() if "requests in" in line)


def servers(builds, peers):
    """Names, and how each is started."""
    several = len(builds) > 1
    for peer in peers:
        if peer in OTHERS:
            yield peer, OTHERS[peer]
            continue
        for build in builds:
            name, path = build.split("=", 1)
            yield f"{name} {peer}" if several else peer, [path, *OURS[peer]]


def measure(command, load, seconds, script):
    """Microseconds of the server's CPU time per request: user, system."""
    port = random.randrange(15000, 30000)
    worker = HERE / f"workers/{load}.js"
    folder = tempfile.TemporaryDirectory()
    app = pathlib.Path(folder.name) / "apps" / load
    app.mkdir(parents=True)
    (app / "index.js").write_text(worker.read_text())
    places = {"worker": worker, "port": port, "apps": app.parent, "data": pathlib.Path(folder.name) / "data"}
    path = f"/{load}/" if "{apps}" in command else "/"
    command = [str(part).format(**places) for part in command]
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
        return [(now - then) * 1e6 / requests for now, then in zip(cpu_seconds(process.pid), before)]
    finally:
        process.terminate()
        process.wait()
        folder.cleanup()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--loads", default="hello,json,stream")
    parser.add_argument("--peers", default="run,serve,deno,bun")
    parser.add_argument("--hearth", action="append", metavar="NAME=PATH", help="a build; may be said more than once")
    arguments = parser.parse_args()
    commands = dict(servers(arguments.hearth or [HEARTH], arguments.peers.split(",")))
    commands = {name: command for name, command in commands.items() if pathlib.Path(command[0]).exists()}
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPT)
        script.flush()
        for load in arguments.loads.split(","):
            times = {name: [] for name in commands}
            for _ in range(arguments.rounds):
                for name, command in commands.items():
                    times[name].append(measure(command, load, arguments.seconds, script.name))
            median = {name: statistics.median(map(sum, values)) for name, values in times.items()}
            best = min(median.values())
            for name, values in times.items():
                user = statistics.median(one for one, _ in values)
                spread = f"{min(map(sum, values)):.2f} to {max(map(sum, values)):.2f}, {user:.2f} in user space"
                print(f"{load:8} {name:12} {median[name]:8.2f} us of CPU a request ({spread}), {best / median[name]:.2f} of the best")


main()
