// node:fs and node:fs/promises: the app's folder for reading, /tmp in memory.

import fs, { Dirent, Stats, constants } from "node:fs";
import promises from "node:fs/promises";
import { equal, ok, rejects, same, test, throws } from "./harness.js";
export { default } from "./harness.js";

const text = (path) => fs.readFileSync(path, "utf8");
const fresh = () => fs.mkdtempSync("/tmp/test-");

test("the app's own files can be read, by every kind of path", () => {
  const own = text("/node_fs.js");
  ok(own.startsWith("// node:fs"));
  equal(text("node_fs.js"), own);
  equal(text(new URL(import.meta.url)), own);
  equal(text(new TextEncoder().encode("/node_fs.js")), own);
  equal(fs.readFileSync("/node_fs.js").length, new TextEncoder().encode(own).length);
  const stats = fs.statSync("/node_fs.js");
  ok(stats instanceof Stats && stats.isFile() && !stats.isDirectory() && stats.mtime instanceof Date);
  equal(stats.size, fs.readFileSync("/node_fs.js").length);
  equal(typeof fs.statSync("/", { bigint: true }).size, "bigint");
  ok(fs.statSync(".").isDirectory());
});

test("folders can be listed", () => {
  ok(fs.readdirSync("/").includes("node_fs.js"));
  const entry = fs.readdirSync(".", { withFileTypes: true }).find(({ name }) => name === "harness.js");
  ok(entry instanceof Dirent && entry.isFile());
  equal(entry.parentPath, ".");
  throws(() => fs.readdirSync("/node_fs.js"), { code: "ENOTDIR", syscall: "scandir" });
  throws(() => fs.readdirSync("/nothing"), { code: "ENOENT", errno: -2, message: "ENOENT: no such file or directory, scandir '/nothing'" });
});

test("the app's folder is for reading", () => {
  const refused = { code: "EROFS", errno: -30 };
  throws(() => fs.writeFileSync("/node_fs.js", ""), { ...refused, syscall: "open", path: "/node_fs.js" });
  throws(() => fs.writeFileSync("/new", ""), refused);
  throws(() => fs.appendFileSync("/new", ""), refused);
  throws(() => fs.unlinkSync("/node_fs.js"), refused);
  throws(() => fs.rmSync("/node_fs.js"), refused);
  throws(() => fs.mkdirSync("/folder"), refused);
  throws(() => fs.mkdirSync("/a/b/c", { recursive: true }), refused);
  throws(() => fs.renameSync("/node_fs.js", "/tmp/x"), refused);
  throws(() => fs.chmodSync("/node_fs.js", 0o777), refused);
  throws(() => fs.utimesSync("/node_fs.js", 1, 1), refused);
  throws(() => fs.truncateSync("/node_fs.js"), refused);
  throws(() => fs.symlinkSync("/x", "/y"), refused);
  throws(() => fs.accessSync("/node_fs.js", constants.W_OK), refused);
  throws(() => fs.openSync("/node_fs.js", "r+"), refused);
  fs.accessSync("/node_fs.js", constants.R_OK);
  throws(() => fs.mkdirSync("/"), { code: "EEXIST" });
  equal(fs.mkdirSync("/", { recursive: true }), undefined);
});

test("nothing outside of it can be named", () => {
  for (const path of ["/etc/passwd", "../../../../etc/passwd", "/../../etc/passwd", "/tmp/../../etc/passwd", "/proc/self/environ", "/dev/null", "/dev/zero"]) {
    throws(() => fs.readFileSync(path), { code: "ENOENT" });
    equal(fs.existsSync(path), false, path);
  }
  throws(() => fs.readFileSync("/a\0b"), { code: "ERR_INVALID_ARG_VALUE" });
  throws(() => fs.readFileSync("/.env"), { code: "EACCES" });
  throws(() => fs.readFileSync("/any/.env.local"), { code: "EACCES" });
  throws(() => fs.readFileSync(new URL("file:///a%2fb")), { code: "ERR_INVALID_FILE_URL_PATH" });
  throws(() => fs.readFileSync(new URL("http://localhost/x")), { code: "ERR_INVALID_URL_SCHEME" });
  throws(() => fs.readFileSync("x".repeat(100_000)), {});
});

test("files of /tmp", () => {
  const folder = fresh();
  const path = `${folder}/a.txt`;
  fs.writeFileSync(path, "one");
  fs.appendFileSync(path, " two");
  equal(text(path), "one two");
  fs.writeFileSync(path, new Uint8Array([65, 66]));
  equal(text(path), "AB");
  fs.truncateSync(path, 4);
  same([...fs.readFileSync(path)], [65, 66, 0, 0]);
  fs.writeFileSync(path, "x", { flag: "a" });
  equal(fs.statSync(path).size, 5);
  equal(fs.statSync(path).mode & 0o777, 0o644);
  fs.chmodSync(path, 0o600);
  equal(fs.statSync(path).mode & 0o777, 0o600);
  fs.utimesSync(path, new Date(1000), 2);
  equal(fs.statSync(path).atimeMs, 1000);
  equal(fs.statSync(path).mtimeMs, 2000);
  throws(() => fs.writeFileSync(path, "", { flag: "wx" }), { code: "EEXIST" });
  throws(() => fs.writeFileSync(`${folder}/no/file`, ""), { code: "ENOENT" });
  throws(() => fs.writeFileSync(`${path}/file`, ""), { code: "ENOTDIR" });
  throws(() => fs.writeFileSync(folder, ""), { code: "EISDIR" });
  throws(() => fs.readFileSync(folder), { code: "EISDIR", syscall: "read" });
  fs.unlinkSync(path);
  equal(fs.existsSync(path), false);
});

test("folders of /tmp", () => {
  const folder = fresh();
  equal(fs.mkdirSync(`${folder}/a/b/c`, { recursive: true }), `${folder}/a`);
  equal(fs.mkdirSync(`${folder}/a/b`, { recursive: true }), undefined);
  fs.writeFileSync(`${folder}/a/b/file`, "x");
  same(fs.readdirSync(folder, { recursive: true }), ["a", "a/b", "a/b/c", "a/b/file"]);
  throws(() => fs.rmdirSync(`${folder}/a`), { code: "ENOTEMPTY" });
  throws(() => fs.rmSync(`${folder}/a`), { code: "ERR_FS_EISDIR" });
  fs.renameSync(`${folder}/a/b`, `${folder}/d`);
  equal(text(`${folder}/d/file`), "x");
  throws(() => fs.renameSync(folder, `${folder}/d/e`), { code: "EINVAL" });
  fs.cpSync(`${folder}/d`, `${folder}/e`, { recursive: true });
  equal(text(`${folder}/e/file`), "x");
  fs.copyFileSync("/harness.js", `${folder}/copy`);
  equal(text(`${folder}/copy`), text("/harness.js"));
  throws(() => fs.copyFileSync("/harness.js", `${folder}/copy`, constants.COPYFILE_EXCL), { code: "EEXIST" });
  fs.rmSync(folder, { recursive: true });
  fs.rmSync(folder, { force: true });
  throws(() => fs.rmSync(folder), { code: "ENOENT" });
  throws(() => fs.rmSync("/tmp", { recursive: true }), { code: "EBUSY" });
});

test("links", () => {
  const folder = fresh();
  fs.symlinkSync("/harness.js", `${folder}/link`);
  equal(text(`${folder}/link`), text("/harness.js"));
  equal(fs.readlinkSync(`${folder}/link`), "/harness.js");
  equal(fs.realpathSync(`${folder}/link`), "/harness.js");
  ok(fs.lstatSync(`${folder}/link`).isSymbolicLink());
  fs.symlinkSync("/.env", `${folder}/secret`);
  throws(() => fs.readFileSync(`${folder}/secret`), { code: "EACCES" });
  fs.symlinkSync("../../../../etc/passwd", `${folder}/outside`);
  throws(() => fs.readFileSync(`${folder}/outside`), { code: "ENOENT" });
  fs.symlinkSync("loop", `${folder}/loop`);
  throws(() => fs.readFileSync(`${folder}/loop`), { code: "ELOOP" });
  throws(() => fs.writeFileSync(`${folder}/link`, ""), { code: "EROFS" });
  fs.writeFileSync(`${folder}/one`, "1");
  fs.linkSync(`${folder}/one`, `${folder}/two`);
  fs.appendFileSync(`${folder}/two`, "2");
  equal(text(`${folder}/one`), "12");
  equal(fs.statSync(`${folder}/one`).nlink, 2);
});

test("descriptors", () => {
  const path = `${fresh()}/file`;
  const fd = fs.openSync(path, "w+");
  equal(fs.writeSync(fd, "hello world"), 11);
  const bytes = new Uint8Array(5);
  equal(fs.readSync(fd, bytes, 0, 5, 6), 5);
  equal(new TextDecoder().decode(bytes), "world");
  equal(fs.readSync(fd, bytes), 0);
  equal(fs.readSync(fd, bytes, { position: 0, length: 2 }), 2);
  equal(fs.writeSync(fd, new Uint8Array([33]), 0, 1, 0), 1);
  fs.ftruncateSync(fd, 3);
  equal(fs.fstatSync(fd).size, 3);
  fs.closeSync(fd);
  throws(() => fs.readSync(fd, bytes), { code: "EBADF", errno: -9 });
  throws(() => fs.closeSync(fd), { code: "EBADF" });
  throws(() => fs.readSync("1", bytes), { code: "ERR_INVALID_ARG_TYPE" });
  throws(() => fs.openSync(path, "nonsense"), { code: "ERR_INVALID_ARG_VALUE" });
  throws(() => fs.readSync(fs.openSync(path), bytes, 3, 9), { code: "ERR_OUT_OF_RANGE" });
});

test("a flood of descriptors ends", () => {
  const open = [];
  const error = throws(() => { for (;;) open.push(fs.openSync("/harness.js")); }, { code: "EMFILE" });
  ok(open.length <= 1024, error.message);
  for (const fd of open) fs.closeSync(fd);
});

test("callbacks", async () => {
  const call = (name, ...values) => new Promise((resolve, reject) => {
    fs[name](...values, (error, value) => (error ? reject(error) : resolve(value)));
  });
  const path = `${fresh()}/file`;
  equal(await call("writeFile", path, "text"), undefined);
  equal(await call("readFile", path, "utf8"), "text");
  equal((await call("stat", path)).size, 4);
  await rejects(call("readFile", "/nothing"), { code: "ENOENT" });
  throws(() => fs.readFile(3.5, () => {}), { code: "ERR_OUT_OF_RANGE" });
  throws(() => fs.readFile(path), { code: "ERR_INVALID_ARG_TYPE" });
  let sync = true;
  await new Promise((resolve) => { fs.access(path, () => { equal(sync, false); resolve(); }); sync = false; });
  const fd = await call("open", path, "r");
  const into = new Uint8Array(10);
  const [count, same] = await new Promise((resolve) => { fs.read(fd, into, 0, 10, 0, (_, n, buffer) => resolve([n, buffer])); });
  equal(count, 4);
  equal(same, into);
  await call("close", fd);
});

test("promises and file handles", async () => {
  const folder = await promises.mkdtemp("/tmp/p-");
  const path = `${folder}/file`;
  await promises.writeFile(path, "one\n");
  await promises.appendFile(path, (async function* () { yield "two\n"; yield "three\n"; })());
  equal(await promises.readFile(path, { encoding: "utf8" }), "one\ntwo\nthree\n");
  await using handle = await promises.open(path, "r+");
  equal((await handle.read(new Uint8Array(3), 0, 3, 0)).bytesRead, 3);
  await handle.write("ONE", 0);
  equal(await handle.readFile("utf8"), "ONE\ntwo\nthree\n");
  equal((await handle.stat()).size, 14);
  await rejects(promises.readFile("/nothing"), { code: "ENOENT", path: "/nothing" });
  await rejects(promises.readFile(path, { signal: AbortSignal.abort() }), { name: "AbortError" });
  await rejects(promises.access("/nothing"), { code: "ENOENT" });
  const names = [];
  for await (const entry of await promises.opendir(folder)) names.push(entry.name);
  same(names, ["file"]);
  await promises.rm(folder, { recursive: true });
  equal(fs.existsSync(folder), false);
  equal(fs.promises, promises);
});

test("streams", async () => {
  const path = `${fresh()}/file`;
  const out = fs.createWriteStream(path);
  out.write("hello ");
  out.end("world");
  await new Promise((resolve, reject) => { out.on("close", resolve); out.on("error", reject); });
  equal(out.bytesWritten, 11);
  equal(text(path), "hello world");
  let all = "";
  for await (const piece of fs.createReadStream(path, { encoding: "utf8", start: 2, end: 7, highWaterMark: 2 })) all += piece;
  equal(all, "llo wo");
  const missing = fs.createReadStream("/nothing");
  const error = await new Promise((resolve) => { missing.on("error", resolve); });
  equal(error.code, "ENOENT");
});

test("watching is refused", () => {
  throws(() => fs.watch("/"), { code: "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM", message: /hearth dev/ });
  throws(() => fs.watchFile("/", () => {}), { code: "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM" });
});
