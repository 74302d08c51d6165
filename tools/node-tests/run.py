#!/usr/bin/env python3
"""Runs Node's own tests in Hearth, and in Deno and Bun beside it.

    tools/node-tests/run.py CHECKOUT [--runtime hearth|deno|bun=PATH] [--jobs 2] [--show] [--only PATTERN...] [MODULE...]

CHECKOUT is a checkout of https://github.com/nodejs/node; nothing of it is part of this repository. Run are
test/parallel/test-MODULE*.js, each in a fresh context (Hearth) or process (the others), with a stand-in for
test/common that is the same for all. Left out, for all runtimes, are tests of Node's own insides: files that ask
for internal modules, for flags of the program or for child processes. Printed is a row for each module: files
that passed, and all.

`expectations.json` names the files that fail in Hearth, with the reason; with `--check` a failure that is not named
there fails, and so does a file that passes although it is named.
"""
import argparse, concurrent.futures, fnmatch, json, os, pathlib, re, shutil, socket, subprocess, sys, tempfile, time, urllib.error, urllib.request

HERE = pathlib.Path(__file__).resolve().parent
PURE = ("assert async-hooks async-local buffer console diagnostics-channel event events module os path perf process punycode querystring readline "
        "stream string-decoder timers url util v8 vm whatwg worker-message").split()
OTHERS = "crypto webcrypto zlib dns domain fs http https net tls".split()
INSIDES = re.compile(
    r"expose[-_]internals|internalBinding|process\.binding\(|require\('internal/|from 'internal/|child_process|require\('(?:node:)?cluster'\)"
    r"|^// Flags:.*--(?!expose-gc\b|expose_gc\b|no-warnings\b)", re.M)
SECONDS = 30


def module_of(name, modules):
    fitting = [module for module in modules if name.startswith(f"test-{module}")]
    return max(fitting, key=len) if fitting else None


def tests(checkout, modules, only):
    for path in sorted((checkout / "test/parallel").glob("test-*.js")):
        module = module_of(path.name, modules)
        if module is None or only and not any(fnmatch.fnmatch(path.name, pattern) for pattern in only):
            continue
        if not INSIDES.search(path.read_text(errors="replace")):
            yield f"parallel/{path.name}", module


def link(source, target):
    """A hard link where the file system has them: the suite is large."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def lay_out(checkout, folder):
    """An app whose folder has the tests."""
    folder.mkdir(parents=True)
    for name in ("parallel", "fixtures", "common"):
        shutil.copytree(checkout / "test" / name, folder / "test" / name, symlinks=True, copy_function=link)
    shutil.copytree(checkout / "lib", folder / "lib", copy_function=link)
    (folder / "test/common/index.js").unlink()
    shutil.copy(HERE / "common/index.js", folder / "test/common/index.js")
    (folder / "package.json").write_text('{ "type": "commonjs" }')
    shutil.copy(HERE / "runner.js", folder / "runner.js")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Hearth:
    # A fresh context for each test, and room for the long ones.
    ARGUMENTS = "--execution oneshot --cpu 20s --wall 40s --memory 512mb --egress all".split()

    def __init__(self, program, folder):
        self.port = free_port()
        self.log = open(folder / "log", "w")
        command = [program, "run", str(folder / "app/runner.js"), "--listen", f"127.0.0.1:{self.port}", "--dev", *self.ARGUMENTS]
        self.server = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                break
            except OSError:
                time.sleep(0.1)

    def run(self, test):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/?{test}")
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                result = json.load(answer)
                return result["status"], result.get("message", "")
        except urllib.error.HTTPError as error:
            return "fail", error.read().decode(errors="replace")[:500]
        except Exception as error:
            return "fail", f"no answer: {error}"

    def end(self):
        self.server.terminate()
        self.server.wait()


class Peer:
    ARGUMENTS = {"deno": ["run", "--allow-all", "--quiet"], "bun": ["run"]}

    def __init__(self, name, program, folder):
        self.command, self.folder = [program, *self.ARGUMENTS[name]], folder / "app"

    def run(self, test):
        environment = {**os.environ, "NO_COLOR": "1", "NODE_TEST_DIR": str(self.folder.parent)}
        try:
            done = subprocess.run([*self.command, f"test/{test}"], cwd=self.folder, timeout=SECONDS, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
        except subprocess.TimeoutExpired:
            return "fail", "it did not end"
        return ("pass", "") if done.returncode == 0 else ("fail", done.stdout.decode(errors="replace")[-500:])

    def end(self):
        pass


def reason_for(name, expectations):
    return next((reason for pattern, reason in expectations.items() if fnmatch.fnmatch(name, pattern)), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("modules", nargs="*", metavar="MODULE", default=PURE + OTHERS)
    parser.add_argument("--runtime", default=f"hearth={HERE.parent.parent / 'target/release/hearth'}")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="+", help="names of files, with * and ?")
    parser.add_argument("--show", action="store_true", help="name what did not pass, and why")
    parser.add_argument("--check", action="store_true", help="compare with expectations.json")
    parser.add_argument("--json", type=pathlib.Path, help="write all results there")
    options = parser.parse_intermixed_args()
    name, _, program = options.runtime.partition("=")

    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        lay_out(options.checkout.resolve(), folder / "app")
        runtime = Hearth(program, folder) if name == "hearth" else Peer(name, program, folder)
        try:
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                jobs = [(test, module, pool.submit(runtime.run, test)) for test, module in tests(options.checkout, options.modules, options.only)]
                results = {test: (module, *job.result()) for test, module, job in jobs}
        finally:
            runtime.end()

    rows = {}
    for test, (module, status, message) in results.items():
        row = rows.setdefault(module, [0, 0])
        row[0] += status == "pass"
        row[1] += 1
        if options.show and status != "pass":
            print(f"{test}: {message}")
    for title, group in (("pure", PURE), ("others", OTHERS)):
        listed = [module for module in group if module in rows]
        for module in listed:
            passed, total = rows[module]
            print(f"{module:22} {passed:5} of {total:5} {100 * passed / total:6.1f} %")
        passed, total = (sum(rows[module][at] for module in listed) for at in (0, 1))
        if total:
            print(f"{'all ' + title:22} {passed:5} of {total:5} {100 * passed / total:6.1f} %")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    if options.check:
        expectations = json.loads((HERE / "expectations.json").read_text())
        surprises = [f"{test}: {message}" for test, (_, status, message) in results.items()
                     if (status == "pass") == (reason_for(test, expectations) is not None)]
        for surprise in surprises:
            print(f"not as expected: {surprise}")
        sys.exit(1 if surprises else 0)


main()
