"""Runs a test in Hearth, Deno, Bun or workerd: the same scripts, by the same code (app/run.js), in a fresh context each."""
import json, pathlib, shutil, socket, subprocess, tempfile, threading, time, urllib.error, urllib.request

HERE = pathlib.Path(__file__).resolve().parent
RUN = HERE / "app/run.js"
MARK = "wpt-result:"

# In a script, as service workers are: modules would be strict, and the tests are not.
WORKERD_CONFIG = """using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (serviceWorkerScript = embed "test.js", compatibilityDate = "2025-09-01",
      compatibilityFlags = ["nodejs_compat"])),
    (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [(name = "http", address = "127.0.0.1:PORT", http = (), service = "main")],
);
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def failure(message):
    return {"status": 1, "message": message, "tests": []}


def post(port, body, seconds):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", data=body)
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        return json.load(answer)


def wait_for(port, process, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError("the runtime does not listen")


class Hearth:
    """One server for all tests, with a context for each; another one if a test takes it down."""

    def __init__(self, program):
        self.program = program
        self.folder = tempfile.TemporaryDirectory()
        shutil.copytree(HERE / "app", pathlib.Path(self.folder.name) / "wpt")
        self.lock = threading.Lock()
        self.process = None

    def start(self):
        with self.lock:
            if self.process is not None and self.process.poll() is None:
                return self.port
            self.port = free_port()
            command = [self.program, "run", f"{self.folder.name}/wpt/index.js", "--listen", f"127.0.0.1:{self.port}"]
            with open(f"{self.folder.name}/log", "a") as log:
                self.process = subprocess.Popen(command, stdout=log, stderr=log)
            wait_for(self.port, self.process)
            return self.port

    def run(self, job, seconds):
        try:
            return post(self.start(), json.dumps(job).encode(), seconds)
        except urllib.error.HTTPError as error:
            return failure(error.read().decode(errors="replace")[:300])

    def close(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
        self.folder.cleanup()


class Process:
    """A process for each test: `deno run -A FILE`, `bun run FILE`."""

    def __init__(self, command):
        self.command = command

    def run(self, job, seconds):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(RUN, f"{folder}/run.mjs")
            pathlib.Path(f"{folder}/job.json").write_text(json.dumps(job))
            pathlib.Path(f"{folder}/main.mjs").write_text(
                'import { readFileSync } from "node:fs";\nimport { run } from "./run.mjs";\n'
                'const log = console.log;\n'
                'const result = await run(JSON.parse(readFileSync(new URL("./job.json", import.meta.url), "utf8")));\n'
                f'log("\\n{MARK}" + JSON.stringify(result));\nprocess.exit(0);\n'.replace("process.exit", "(await import('node:process')).default.exit"))
            done = subprocess.run([*self.command, f"{folder}/main.mjs"], capture_output=True, timeout=seconds, stdin=subprocess.DEVNULL)
        lines = [line for line in done.stdout.decode(errors="replace").split("\n") if line.startswith(MARK)]
        return json.loads(lines[-1][len(MARK):]) if lines else failure(done.stderr.decode(errors="replace")[-300:])

    def close(self):
        pass


class Workerd:
    """A process for each test too; without eval there, so the scripts are the body of a function."""

    def __init__(self, program):
        self.program = program

    def run(self, job, seconds):
        port = free_port()
        with tempfile.TemporaryDirectory() as folder:
            texts = [script["text"] for script in job["scripts"]]
            run = RUN.read_text().replace("export ", "")
            pathlib.Path(f"{folder}/test.js").write_text(
                f"{run}\nfunction wptHarness() {{\n{texts[0]}\n}}\nfunction wptScripts() {{\n" + "\n".join(texts[1:]) +
                f"\n}}\naddEventListener('fetch', (event) => event.respondWith(run({{ url: {json.dumps(job['url'])},"
                f" scripts: [], functions: [wptHarness, wptScripts], seconds: {job['seconds']} }}).then((result) => Response.json(result))));\n")
            pathlib.Path(f"{folder}/config.capnp").write_text(WORKERD_CONFIG.replace("PORT", str(port)))
            with open(f"{folder}/log", "w") as log:
                process = subprocess.Popen([self.program, "serve", f"{folder}/config.capnp"], stdout=log, stderr=log)
            try:
                wait_for(port, process)
                return post(port, b"", seconds)
            except Exception as error:
                return failure(f"{error} {pathlib.Path(f'{folder}/log').read_text()[-300:]}")
            finally:
                process.kill()
                process.wait()

    def close(self):
        pass


def open_runtime(name, program):
    if name == "hearth":
        return Hearth(program)
    if name == "deno":
        return Process([program, "run", "-A", "--quiet"])
    if name == "bun":
        return Process([program, "run"])
    if name == "workerd":
        return Workerd(program)
    raise SystemExit(f"{name}: the runtimes are hearth, deno, bun and workerd")
