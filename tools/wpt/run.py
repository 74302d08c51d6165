#!/usr/bin/env python3
"""Runs tests of the web-platform-tests in Hearth.

    tools/wpt/run.py CHECKOUT [--hearth PATH] [--jobs 2] [--show] FOLDER-OR-FILE...

CHECKOUT is a checkout of https://github.com/web-platform-tests/wpt; nothing of it is part of this repository. Run are the
files that work without a page: `*.any.js`, and `*.worker.js` in workers of their own. Each is run in a fresh context, once
for each variant. Printed is a row for each folder: subtests that passed, and all. `--show` names those that failed.
"""
import argparse, concurrent.futures, json, pathlib, re, shutil, socket, subprocess, sys, tempfile, time, urllib.error, urllib.request

HERE = pathlib.Path(__file__).resolve().parent
PASSED = 0
# Addresses that the tests' own server knows by other names.
ALIASES = {"/resources/WebIDLParser.js": "/resources/webidl2/lib/webidl2.js"}
STATUS = {0: "pass", 1: "fail", 2: "timeout", 3: "not run", 4: "precondition"}


def meta(text, key):
    return re.findall(rf"^// META: {key}=(.*)$", text, re.M)


def globals_of(text):
    names = ",".join(meta(text, "global")) or "window,dedicatedworker"
    return [name.strip() for name in names.split(",")]


def runs_in_a_worker(name, text):
    if name.endswith(".any.js"):
        return any(scope in globals_of(text) for scope in ("worker", "dedicatedworker", "sharedworker", "serviceworker", "shadowrealm"))
    return False


def scripts_of(checkout, test, text):
    """testharness.js, what the test asks for, and the test."""
    paths = [checkout / "resources/testharness.js"]
    for script in meta(text, "script"):
        script = script.strip()
        script = ALIASES.get(script, script)
        paths.append(checkout / script.lstrip("/") if script.startswith("/") else test.parent / script)
    return [{"name": path.name, "text": path.read_text(errors="replace")} for path in [*paths, test]]


def ask(port, body, seconds):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/", data=json.dumps(body).encode(), headers={"host": "wpt.localhost"})
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        return json.load(answer)


def run_test(port, checkout, test, variant):
    text = test.read_text(errors="replace")
    long = "long" in meta(text, "timeout")
    path = test.relative_to(checkout)
    body = {"url": f"http://web-platform.test:8000/{path.with_suffix('.html')}{variant}", "scripts": scripts_of(checkout, test, text)}
    try:
        result = ask(port, body, 100 if long else 60)
    except Exception as error:
        detail = error.read().decode(errors="replace")[:300] if hasattr(error, "read") else error
        result = {"status": 1, "message": f"no answer: {detail}", "tests": []}
    return str(path) + variant, result


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def tests_below(checkout, names):
    for name in names:
        root = checkout / name
        files = [root] if root.is_file() else sorted(root.rglob("*.any.js"))
        for test in files:
            text = test.read_text(errors="replace")
            if runs_in_a_worker(test.name, text):
                for variant in meta(text, "variant") or [""]:
                    yield test, variant.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("tests", nargs="+", metavar="FOLDER-OR-FILE")
    parser.add_argument("--hearth", default=str(HERE.parent.parent / "target/release/hearth"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="name what did not pass")
    parser.add_argument("--json", type=pathlib.Path, help="write all results there")
    options = parser.parse_args()
    checkout = options.checkout.resolve()

    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(HERE / "app", pathlib.Path(folder) / "apps/wpt")
        port = free_port()
        command = [options.hearth, "serve", f"{folder}/apps", "--listen", f"127.0.0.1:{port}", "--admin", "off", "--data", f"{folder}/data"]
        with open(f"{folder}/log", "w") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            for _ in range(600):
                try:
                    ask(port, {"url": "http://web-platform.test/", "scripts": []}, 1)
                except urllib.error.HTTPError:
                    break
                except Exception:
                    time.sleep(0.1)
                    continue
                break
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                jobs = [pool.submit(run_test, port, checkout, test, variant) for test, variant in tests_below(checkout, options.tests)]
                results = dict(job.result() for job in jobs)
        finally:
            server.terminate()
            server.wait()
            if options.show:
                print(pathlib.Path(f"{folder}/log").read_text()[-1500:], file=sys.stderr)

    rows = {}
    for name, result in results.items():
        folder = "/".join(name.split("?")[0].split("/")[:2 if name.startswith("WebCryptoAPI") else 1])
        passed = sum(test["status"] == PASSED for test in result["tests"])
        row = rows.setdefault(folder, [0, 0, 0])
        row[0] += passed
        row[1] += len(result["tests"])
        row[2] += result["status"] != 0
        if options.show:
            if result["status"] != 0:
                print(f"{name}: harness: {result['message']}")
            for test in result["tests"]:
                if test["status"] != PASSED:
                    print(f"{name}: {STATUS[test['status']]}: {test['name']}: {test['message']}")
    if options.json:
        options.json.write_text(json.dumps(results))
    for folder, (passed, total, broken) in sorted(rows.items()):
        print(f"{folder:40} {passed:6} of {total:6} {100 * passed / max(total, 1):6.1f} %  {broken} files without a result")
    passed, total = sum(row[0] for row in rows.values()), sum(row[1] for row in rows.values())
    print(f"{'all':40} {passed:6} of {total:6} {100 * passed / max(total, 1):6.1f} %")


main()
