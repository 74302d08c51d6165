#!/usr/bin/env python3
"""What changes cost that should cost nothing: upgrade, reload, replace and deploy, again and again under load.

    bench/changes.py [--seconds 30] [--times 10] [--only upgrade,reload,replace,deploy] [--hearth target/release/hearth]

For each kind of change one server, and at the same time: wrk on 16 connections that are never idle, four clients that keep their
connections and pause between requests, and four that read streams of three seconds. A request fails when its connection is refused
or ends early, or when its answer is another than the right one; a stream fails when it does not come whole. All of them should be 0.
"""
import importlib.util, pathlib, sys

HERE = pathlib.Path(__file__).resolve().parent
# `http` is meant to be Python's own, not the bench beside this one.
sys.path = [path for path in sys.path if pathlib.Path(path).resolve() != HERE]
import argparse, http.client, io, re, shutil, subprocess, tarfile, tempfile, threading, time

spec = importlib.util.spec_from_file_location("cells", HERE / "cells.py")
cells = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cells)

WELL = """export default { fetch: () => new Response("well") };"""
STREAM = """export default { fetch() {
  let n = 0;
  return new Response(new ReadableStream({ async pull(controller) {
    await new Promise((done) => setTimeout(done, 100));
    controller.enqueue(new TextEncoder().encode(`${n} `));
    if (++n === 30) controller.close();
  } }));
} };"""
WHOLE = " ".join(str(n) for n in range(30)) + " "
CONNECTIONS, VISITORS, STREAMS = 16, 4, 4
PAUSE = 0.005


class Count:
    """What became of the requests of one kind."""

    def __init__(self):
        self.lock, self.done, self.failures = threading.Lock(), 0, []

    def note(self, failure=None):
        with self.lock:
            self.done += 1
            if failure:
                self.failures.append(failure)


def visit(port, path, expected, count, over, pause):
    """Asks on one connection for as long as the server keeps it, then on the next."""
    while not over.is_set():
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            while not over.is_set():
                client.request("GET", path)
                answer = client.getresponse()
                body, closes = answer.read().decode(), answer.will_close
                good = (answer.status, body) == (200, expected)
                count.note(None if good else f"{answer.status} {body[:80]!r}")
                if closes:
                    break
                time.sleep(pause)
        except (OSError, http.client.HTTPException) as error:
            count.note(repr(error))
        client.close()


def archive(text):
    """An app of one file, as it is uploaded."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        file = tarfile.TarInfo("index.js")
        file.size = len(text)
        tar.addfile(file, io.BytesIO(text.encode()))
    return packed.getvalue()


def change(server, kind, config, number):
    if kind == "reload":
        # Something that a cell is started with: a reload that replaces them.
        config.write_text(f"max_body_size: {number + 1}mb\n")
        server.ask("POST", "/admin/reload")
    elif kind == "deploy":
        server.ask("POST", f"/admin/apps?name=fresh&version=1.0.{number}", archive(WELL + f"// {number}"))
    else:
        server.ask("POST", f"/admin/{kind}")


def summed(pattern, text):
    """All numbers of what the pattern finds first; 0 where it finds nothing."""
    found = re.search(pattern, text)
    return sum(map(int, found.groups())) if found else 0


def measure(program, kind, seconds, times):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "hearth.yaml"
        config.write_text("")
        apps = {"well/index.js": WELL, "stream/index.js": STREAM}
        server = cells.Server(program, folder, apps, "--config", str(config))
        change(server, "deploy", config, 0)
        server.until("/fresh/")
        server.await_standby()
        over, kept, streams = threading.Event(), Count(), Count()
        path = "/fresh/" if kind == "deploy" else "/well/"
        clients = [(path, "well", kept, PAUSE)] * VISITORS + [("/stream/", WHOLE, streams, 0)] * STREAMS
        threads = [threading.Thread(target=visit, args=(server.port, path, expected, count, over, pause))
                   for path, expected, count, pause in clients]
        for thread in threads:
            thread.start()
        url = f"http://127.0.0.1:{server.port}{path}"
        load = subprocess.Popen(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "30s", url],
                                stdout=subprocess.PIPE, text=True) if shutil.which("wrk") else None
        began = time.monotonic()
        for number in range(1, times + 1):
            time.sleep(max(0, began + seconds * number / (times + 1) - time.monotonic()))
            change(server, kind, config, number)
        time.sleep(max(0, began + seconds - time.monotonic()))
        over.set()
        for thread in threads:
            thread.join()
        told = load.communicate()[0] if load else ""
        server.end()
    failed = summed(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", told) + summed(r"Non-2xx or 3xx responses: (\d+)", told)
    return (summed(r"(\d+) requests in", told), failed), kept, streams


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--only", default="upgrade,reload,replace,deploy")
    parser.add_argument("--hearth", default=str(HERE.parent / "target/release/hearth"))
    given = parser.parse_args()
    print(f"{given.times} changes in {given.seconds} s      wrk, failed      kept, failed   streams, failed")
    for kind in given.only.split(","):
        (asked, failed), kept, streams = measure(given.hearth, kind, given.seconds, given.times)
        print(f"{kind:20} {asked:12} {failed:7} {kept.done:9} {len(kept.failures):7} {streams.done:9} {len(streams.failures):7}",
              flush=True)
        for failure in (kept.failures + streams.failures)[:5]:
            print(f"    {failure}")


if __name__ == "__main__":
    main()
