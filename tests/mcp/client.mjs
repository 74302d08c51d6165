// The official TypeScript client against the real server. Arguments: `stdio PROGRAM [ARGUMENT…]` or `http URL TOKEN`.
// Ends with 0 if everything is as it should be. The same acts as in client.py.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [kind, ...where] = process.argv.slice(2);
const PATIENCE = { timeout: 120_000 };

function transport() {
  if (kind === "stdio") {
    const [command, ...args] = where;
    // Enough for a file of 10 MB; the client's own limit is lower.
    return new StdioClientTransport({ command, args, stderr: "inherit", maxBufferSize: 100 * 1024 * 1024 });
  }
  const [url, token] = where;
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  });
}

async function connect() {
  const client = new Client({ name: "test", version: "1" });
  const wire = transport();
  await client.connect(wire);
  const close = async () => {
    if (kind === "http") await wire.terminateSession();
    await client.close();
  };
  // Checks results against the schemas that the server gave.
  const { tools } = await client.listTools();
  const call = async (name, args, options) => {
    const result = await client.callTool({ name, arguments: args }, undefined, { ...PATIENCE, ...options });
    assert.equal(result.content[0].type, "text");
    assert.ok(result.structuredContent, `${name} has a structured result`);
    return result;
  };
  const ok = async (name, args, options) => {
    const result = await call(name, args, options);
    assert.ok(!result.isError, `${name}: ${result.content[0].text}`);
    return result.structuredContent;
  };
  const refused = async (code, name, args) => {
    const result = await call(name, args);
    assert.ok(result.isError, `${name} should fail`);
    assert.equal(result.structuredContent.error.code, code, JSON.stringify(result.structuredContent));
    return result.structuredContent.error.message;
  };
  return { client, tools, call, ok, refused, close };
}

const acts = {
  async tools({ client, tools }) {
    assert.equal(client.getServerVersion().name, "hearth");
    const names = tools.map((tool) => tool.name);
    for (const name of [
      "create_sandbox", "destroy_sandbox", "list_sandboxes", "execute_code", "run_command", "read_file", "write_file",
      "list_directory", "start_job", "poll_job", "signal_job",
    ]) {
      assert.ok(names.includes(name), `${name} in ${names}`);
    }
    assert.equal(names.includes("create_file_link"), kind === "http");
    for (const tool of tools) {
      assert.equal(tool.inputSchema.type, "object");
      assert.equal(tool.inputSchema.additionalProperties, false);
      assert.ok(tool.description.length > 20 && tool.title);
    }
    assert.equal(tools.find((tool) => tool.name === "read_file").annotations.readOnlyHint, true);
    assert.equal(tools.find((tool) => tool.name === "destroy_sandbox").annotations.destructiveHint, true);
  },

  async sandboxes({ ok, refused, sandbox_id }) {
    assert.match(sandbox_id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/);
    const { sandboxes } = await ok("list_sandboxes", {});
    const listed = sandboxes.find((one) => one.sandbox_id === sandbox_id);
    assert.equal(listed.state, "ready");
    assert.ok(!Number.isNaN(Date.parse(listed.created_at)));
    const other = (await ok("create_sandbox", { memory_mib: 256, vcpu_count: 1 })).sandbox_id;
    assert.equal((await ok("get_sandbox", { sandbox_id: other })).memory_mib, 256);
    await ok("destroy_sandbox", { sandbox_id: other });
    await refused("not_found", "destroy_sandbox", { sandbox_id: other });
    await refused("not_found", "run_command", { sandbox_id: other, command: "true" });
    for (const wrong of [{ memory_mib: 1 }, { memory_mib: 10_000_000 }, { vcpu_count: 0 }, { vcpu_count: 1000 }]) {
      const [field] = Object.keys(wrong);
      assert.match(await refused("invalid_argument", "create_sandbox", wrong), new RegExp(field));
    }
    assert.match(await refused("invalid_argument", "create_sandbox", { memory: 512 }), /unknown field `memory`/);
    await refused("invalid_argument", "run_command", { sandbox_id: "no-uuid", command: "true" });
    await refused("invalid_argument", "run_command", { sandbox_id, command: "true", timeout_ms: 0 });
    assert.match(await refused("invalid_argument", "execute_code", { sandbox_id, language: "cobol", code: "" }), /python/);
  },

  async commands({ ok, sandbox_id }) {
    const run = (command, more) => ok("run_command", { sandbox_id, command, ...more });
    const { stdout, stderr, exit_code, truncated, timed_out, duration_ms } = await run("echo out; echo err >&2; exit 42");
    assert.deepEqual({ stdout, stderr, exit_code, truncated, timed_out },
      { stdout: "out\n", stderr: "err\n", exit_code: 42, truncated: false, timed_out: false });
    assert.equal(typeof duration_ms, "number");
    assert.equal((await run("no-such-program-at-all")).exit_code, 127);
    const killed = await run("kill -9 $$");
    assert.deepEqual([killed.exit_code, killed.signal], [137, "SIGKILL"]);
    const given = await run("cat; echo $WORD; pwd", { stdin: "in\n", env: { WORD: "😀" }, cwd: "/tmp" });
    assert.equal(given.stdout, "in\n😀\n/tmp\n");
    assert.equal((await run("sleep 100 & echo hi")).stdout, "hi\n");
    const flood = await run("echo first; yes | head -c 3000000; echo last");
    assert.ok(flood.truncated && flood.exit_code === 0 && flood.stdout.length <= 1024 * 1024 + 100);
    assert.ok(flood.stdout.startsWith("first\n") && flood.stdout.endsWith("last\n"));
    assert.equal(flood.omitted_bytes, 3_000_011 - 1024 * 1024);
    const [one, two] = await Promise.all([run("sleep 0.2; echo one"), run("echo two")]);
    assert.deepEqual([one.stdout, two.stdout], ["one\n", "two\n"]);
  },

  async code({ ok, sandbox_id }) {
    const code = (language, code, more) => ok("execute_code", { sandbox_id, language, code, ...more });
    for (const [language, source] of [
      ["python", "print(6 * 7)"], ["javascript", "console.log(6 * 7)"], ["node", "console.log(6 * 7)"],
      ["bash", "echo $((6 * 7))"], ["sh", "echo $((6 * 7))"],
      ["typescript", "interface A { b: number }\nconst a: A = { b: 42 };\nconsole.log(a.b)"],
    ]) {
      const result = await code(language, source);
      assert.deepEqual([result.stdout, result.exit_code], ["42\n", 0], `${language}: ${result.stderr}`);
    }
    for (const [language, source] of [
      ["python", "raise ValueError('no')"], ["javascript", "throw new Error('no')"], ["bash", "echo no >&2; exit 1"],
      ["typescript", "function f(a: number): never {\n  throw new Error('no');\n}\nf(1)"], ["typescript", "let no: = 1"],
    ]) {
      const result = await code(language, source);
      assert.ok(result.exit_code !== 0 && result.stderr.includes("no"), language);
    }
    const filler = `# ${"x".repeat(98)}\n`.repeat(50_000);
    assert.ok(filler.length >= 5_000_000);
    assert.equal((await code("python", `${filler}print('five megabytes')`)).stdout, "five megabytes\n");
    // Wherever what comes is cut into pieces: every emoji arrives whole.
    for (let shift = 0; shift < 4; shift += 1) {
      const text = "a".repeat(shift) + "😀".repeat(50_000);
      const echoed = await code("python", `import sys\nsys.stdout.write(sys.stdin.read())`, { stdin: text });
      assert.ok(echoed.stdout === text, `shifted by ${shift}`);
    }
    const odd = "a\u0000b'`$😀";
    assert.equal((await code("javascript", `console.log("${odd}", "${odd}".length)`)).stdout, `${odd} ${odd.length}\n`);
    assert.equal((await code("python", "s = '''1\r\n2'''\nprint(len(s), \"'q'\")")).stdout, "3 'q'\n");
    const several = await code("python", ["print(1)", "print(2)", "raise SystemExit(3)", "print(4)"]);
    assert.deepEqual([several.stdout, several.exit_code, several.snippets.length], ["1\n2\n", 3, 3]);
    await code("python", "kept = 41", { session: "notes" });
    assert.equal((await code("python", "print(kept + 1)", { session: "notes" })).stdout, "42\n");
    assert.ok((await code("python", "print(kept)")).stderr.includes("NameError"));
  },

  async files({ ok, refused, client, sandbox_id }) {
    const bytes = randomBytes(1_000_000);
    const content = bytes.toString("base64");
    await ok("write_file", { sandbox_id, path: "deep/er/blob", content, encoding: "base64", mode: "600" });
    const read = await ok("read_file", { sandbox_id, path: "/work/deep/er/blob", encoding: "base64" });
    assert.ok(read.content === content && read.size === bytes.length);
    assert.match(await refused("invalid_argument", "read_file", { sandbox_id, path: "deep/er/blob" }), /base64/);
    const text = "zeile\r\n\u0000 😀".repeat(800_000);
    assert.ok(Buffer.byteLength(text) > 10_000_000);
    await ok("write_file", { sandbox_id, path: "text", content: text });
    assert.ok((await ok("read_file", { sandbox_id, path: "text" })).content === text);
    await ok("move_file", { sandbox_id, from: "text", to: "later" });
    await refused("not_found", "read_file", { sandbox_id, path: "text" });
    const { entries } = await ok("list_directory", { sandbox_id, path: "deep/er" });
    assert.deepEqual([entries[0].name, entries[0].kind, entries[0].size, entries[0].mode], ["blob", "file", 1_000_000, "600"]);
    // Ten thousand, a page at a time, in order, with a link among them that leads nowhere.
    await ok("run_command", { sandbox_id, command: "mkdir many && cd many && seq -f %05g 9999 | xargs touch && ln -s none 10000" });
    const names = [];
    for (let cursor; cursor !== null; ) {
      const page = await ok("list_directory", { sandbox_id, path: "many", ...(cursor && { cursor }) });
      names.push(...page.entries.map((entry) => `${entry.name} ${entry.kind}`));
      cursor = page.next_cursor ?? null;
    }
    assert.deepEqual([names.length, names[0], names.at(-1)], [10_000, "00001 file", "10000 symlink"]);
    assert.deepEqual(names, names.toSorted());
    await ok("write_file", { sandbox_id, path: "a b😀.txt", content: "as a resource" });
    const { resources } = await client.listResources();
    const resource = resources.find((one) => one.name === "a b😀.txt");
    assert.ok(resource.uri.startsWith(`sandbox://${sandbox_id}/work/`));
    assert.equal((await client.readResource({ uri: resource.uri })).contents[0].text, "as a resource");
    const blob = await client.readResource({ uri: `sandbox://${sandbox_id}/work/deep/er/blob` });
    assert.ok(blob.contents[0].blob === content);
    await assert.rejects(client.readResource({ uri: `sandbox://${sandbox_id}/work/none` }));
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.equal(resourceTemplates[0].uriTemplate, "sandbox://{sandbox_id}/{+path}");
    await ok("delete_file", { sandbox_id, path: "deep", recursive: true });
    await refused("not_found", "delete_file", { sandbox_id, path: "deep" });
    if (kind === "http") {
      const link = (direction) => ok("create_file_link", { sandbox_id, path: "linked", direction });
      const up = await link("upload");
      assert.equal((await fetch(up.url, { method: up.method, body: bytes })).status, 204);
      const down = await link("download");
      assert.ok(Buffer.from(await (await fetch(down.url)).arrayBuffer()).equals(bytes));
      assert.equal((await fetch(up.url)).status, 404, "a link goes one way");
    }
  },

  async time({ call, ok, client, sandbox_id }) {
    const slow = await ok("run_command", { sandbox_id, command: "echo begun; sleep 60; echo late", timeout_ms: 3000 });
    assert.ok(slow.timed_out && slow.stdout === "begun\n");
    assert.equal((await ok("run_command", { sandbox_id, command: "echo mine" })).stdout, "mine\n");
    const heard = [];
    // It goes on when it was heard.
    const wait = (what) => `while [ ! -e heard-${what} ]; do sleep 0.01; done`;
    const command = `echo one; ${wait("one")}; echo two; ${wait("two")}; echo three`;
    const onprogress = ({ message }) => {
      heard.push(message);
      call("write_file", { sandbox_id, path: `heard-${message.trim()}`, content: "" }).catch(() => {});
    };
    const told = await ok("run_command", { sandbox_id, command }, { onprogress });
    assert.equal(told.stdout, "one\ntwo\nthree\n");
    assert.ok(heard.join("").startsWith("one\ntwo\n"), JSON.stringify(heard));
    // Cancelled: its processes end, and the next call is answered.
    const stop = new AbortController();
    const begun = new Promise((resolve) => {
      const options = { signal: stop.signal, onprogress: resolve };
      call("run_command", { sandbox_id, command: "echo $$ > /work/pid; echo here; exec sleep 3600" }, options).catch(() => {});
    });
    await begun;
    stop.abort();
    const gone = "i=0; while kill -0 $(cat /work/pid) 2>/dev/null; do sleep 0.1; done; echo gone";
    assert.equal((await ok("run_command", { sandbox_id, command: gone })).stdout, "gone\n");
    await client.ping();
  },

  async jobs({ ok, refused, sandbox_id }) {
    const { job_id } = await ok("start_job", { sandbox_id, command: "echo begun; sleep 3600" });
    let polled = await ok("poll_job", { sandbox_id, job_id, wait_ms: 60_000 });
    assert.deepEqual([polled.state, polled.stdout], ["running", "begun\n"]);
    await ok("signal_job", { sandbox_id, job_id, signal: "SIGTERM" });
    for (let look = 0; polled.state === "running" && look < 100; look += 1) {
      const { stdout_offset, stderr_offset } = polled;
      polled = await ok("poll_job", { sandbox_id, job_id, wait_ms: 60_000, stdout_offset, stderr_offset });
    }
    assert.deepEqual([polled.state, polled.stdout, polled.signal], ["ended", "", "SIGTERM"]);
    const { jobs } = await ok("list_jobs", { sandbox_id });
    assert.equal(jobs[0].job_id, job_id);
    await refused("invalid_argument", "signal_job", { sandbox_id, job_id, signal: "SIGNOTHING" });
  },

  async destruction({ ok, call }) {
    const { sandbox_id } = await ok("create_sandbox", {});
    let running;
    await new Promise((resolve) => {
      running = call("run_command", { sandbox_id, command: "echo here; sleep 3600", timeout_ms: 3_600_000 }, { onprogress: resolve });
    });
    await ok("destroy_sandbox", { sandbox_id });
    const ended = await running;
    assert.ok(ended.isError);
    assert.equal(ended.structuredContent.error.code, "not_found");
  },

  async strangers({ ok, sandbox_id }) {
    const other = await connect();
    assert.deepEqual((await other.ok("list_sandboxes", {})).sandboxes, []);
    await other.refused("not_found", "run_command", { sandbox_id, command: "true" });
    await other.refused("not_found", "read_file", { sandbox_id, path: "later" });
    await other.refused("not_found", "destroy_sandbox", { sandbox_id });
    const theirs = (await other.ok("create_sandbox", {})).sandbox_id;
    assert.ok(!(await ok("list_sandboxes", {})).sandboxes.some((one) => one.sandbox_id === theirs));
    await other.close();
    assert.ok((await ok("list_sandboxes", {})).sandboxes.some((one) => one.sandbox_id === sandbox_id));
  },
};

const visitor = await connect();
visitor.sandbox_id = (await visitor.ok("create_sandbox", {})).sandbox_id;
for (const [name, act] of Object.entries(acts)) {
  console.log(name);
  await act(visitor);
}
await visitor.close();
console.log("done");
