"use strict";
// node:process (https://nodejs.org/api/process.html): what a worker can say of itself in Node's terms.
//
// `versions.node` is the version of Node whose APIs these modules follow, so that packages that look for one find it.
//
// Deviations:
// - exit() ends the running request with an error, and the worker keeps serving: it is no process of the app's own.
// - uncaughtException and unhandledRejection come by the global events `error` and `unhandledrejection`, where the
//   runtime dispatches those; a listener prevents what would happen without it. beforeExit and signals are never
//   emitted; `exit` is emitted by exit() alone.
// - pid, umask, user and group ids are constants: apps share one process, which is not theirs to look into.
// - cpuUsage, resourceUsage and loadavg are zero. memoryUsage is the isolate's.
// - chdir, kill, abort, dlopen, binding and the like throw.

const EventEmitter = require("events");
const { makeEnv, memory, now, queueTick } = binding("process");
const { validateFunction } = require("internal/validators");

const NODE_VERSION = "22.22.0";
/** The version below node:crypto, of the crate openssl-src. */
const OPENSSL_VERSION = "3.6.3";

function Process() {}
Object.setPrototypeOf(Process.prototype, EventEmitter.prototype);
Object.defineProperty(Process, "name", { value: "process" });
Object.defineProperty(Process.prototype, Symbol.toStringTag, { value: "process", configurable: true });

const process = new Process();
module.exports = process;
EventEmitter.call(process);

process.env = environment(makeEnv());
process.argv = ["/usr/bin/node", "/"];
process.argv0 = "node";
process.execArgv = [];
process.execPath = "/usr/bin/node";
process.title = "hearth";
process.platform = "linux";
process.arch = "x64";
process.version = `v${NODE_VERSION}`;
process.versions = Object.freeze({
  __proto__: null, node: NODE_VERSION, hearth: "0.1.0", modules: "127", uv: "1.51.0", v8: "15.4.0-hearth", zlib: "1.3.1",
  openssl: OPENSSL_VERSION,
});
process.release = { name: "node", lts: "Jod", sourceUrl: "", headersUrl: "" };
process.config = Object.freeze({ target_defaults: Object.freeze({}), variables: Object.freeze({ node_module_version: 127 }) });
process.features = Object.freeze({
  inspector: false, debug: false, uv: true, ipv6: true, openssl_is_boringssl: false, tls_alpn: true, tls_sni: true,
  tls_ocsp: false, tls: true, cached_builtins: true, require_module: true, typescript: "strip",
});
process.pid = 1;
process.ppid = 0;
process.debugPort = 9229;
process.exitCode = undefined;
process.noDeprecation = false;
process.throwDeprecation = false;
process.traceDeprecation = false;
process.mainModule = undefined;
process.moduleLoadList = [];
process.domain = null;

process.nextTick = function nextTick(callback, ...args) {
  validateFunction(callback, "callback");
  queueTick(callback, args);
};

process.cwd = () => "/";
process.umask = (mask) => require("internal/process/usage").umask(mask);
process.getuid = process.geteuid = () => 1000;
process.getgid = process.getegid = () => 1000;
process.getgroups = () => [1000];

process.uptime = () => now() / 1000;

process.hrtime = Object.assign(function hrtime(before = undefined) {
  const ms = now();
  let seconds = Math.floor(ms / 1000);
  let nanoseconds = Math.floor((ms % 1000) * 1e6);
  if (before !== undefined) {
    require("internal/validators").validateArray(before, "time");
    if (before.length !== 2) {
      const { ERR_OUT_OF_RANGE } = require("internal/errors");
      throw new ERR_OUT_OF_RANGE("time", 2, before.length);
    }
    seconds -= before[0];
    nanoseconds -= before[1];
    if (nanoseconds < 0) {
      seconds--;
      nanoseconds += 1e9;
    }
  }
  return [seconds, nanoseconds];
}, { bigint: () => BigInt(Math.floor(now() * 1e6)) });

process.memoryUsage = Object.assign(function memoryUsage() {
  const { heapTotal, heapUsed, external, arrayBuffers } = memory();
  return { rss: heapTotal + external, heapTotal, heapUsed, external, arrayBuffers };
}, { rss: () => process.memoryUsage().rss });
process.constrainedMemory = () => memory().heapLimit;
process.availableMemory = () => {
  const { heapLimit, heapUsed } = memory();
  return Math.max(heapLimit - heapUsed, 0);
};

process.cpuUsage = (before = undefined) => {
  if (before !== undefined) require("internal/process/usage").checkPrevious(before);
  return { user: 0, system: 0 };
};
process.threadCpuUsage = process.cpuUsage;
process.resourceUsage = () => require("internal/process/usage").resourceUsage(memory());
process.getActiveResourcesInfo = () => [];
process._getActiveHandles = () => [];
process._getActiveRequests = () => [];

process.getBuiltinModule = (id) => {
  require("internal/validators").validateString(id, "id");
  return binding("modules").requireById(id);
};

process.emitWarning = (...values) => require("internal/process/warning").emitWarning(...values);
process.exit = (code) => require("internal/process/exit").exit(code);
process.reallyExit = process.exit;
process.loadEnvFile = (path) => require("internal/process/exit").loadEnvFile(path);
process.setUncaughtExceptionCaptureCallback = (callback) => require("internal/process/uncaught").setCapture(callback);
process.hasUncaughtExceptionCaptureCallback = () => require("internal/process/uncaught").hasCapture();
process.addUncaughtExceptionCaptureCallback = (callback) => require("internal/process/uncaught").addCapture(callback);
process.setSourceMapsEnabled = (value) => require("internal/validators").validateBoolean(value, "enabled");
process.sourceMapsEnabled = true;
process.ref = (object) => { (object?.[Symbol.for("nodejs.ref")] ?? object?.ref)?.call(object); };
process.unref = (object) => { (object?.[Symbol.for("nodejs.unref")] ?? object?.unref)?.call(object); };
process.assert = (value, message) => { if (!value) throw new Error(message || "assertion error"); };
process.allowedNodeEnvironmentFlags = new Set();
process.finalization = Object.freeze({ register() {}, registerBeforeExit() {}, unregister() {} });
process.report = null;
process.permission = undefined;

require("internal/process/refusals")(process);

process.stdout = late(() => require("internal/process/output")("log"));
process.stderr = late(() => require("internal/process/output")("error"));
process.stdin = late(() => require("internal/process/input")());

/** Values are strings, whatever they are set to, as in Node. */
function environment(values) {
  return new Proxy(values, {
    set(target, name, value) {
      target[`${name}`] = `${value}`;
      return true;
    },
    defineProperty(target, name, description) {
      require("internal/process/usage").checkVariable(description);
      return Reflect.defineProperty(target, `${name}`, { ...description, value: `${description.value}` });
    },
  });
}

/**
 * An object that is made at its first use: streams are much code, and an import of this module reads all of its properties.
 * All that is done to it is done to the stream.
 */
function late(make) {
  let made;
  const use = () => (made ??= make());
  const traps = {
    get: (_, key) => use()[key],
    set(_, key, value) {
      // Tests and loggers read what the console writes so.
      if (key === "write" || key === "isTTY") require("internal/console_global").useStreams();
      return Reflect.set(use(), key, value);
    },
  };
  for (const name of ["has", "deleteProperty", "defineProperty", "getOwnPropertyDescriptor", "getPrototypeOf", "ownKeys"]) {
    traps[name] = (_, ...args) => Reflect[name](use(), ...args);
  }
  return new Proxy({}, traps);
}

// A listener of an uncaught error asks the global scope for them.
for (const name of ["on", "addListener", "prependListener", "once", "prependOnceListener"]) {
  const add = EventEmitter.prototype[name];
  Object.defineProperty(process, name, {
    value(type, listener) {
      const result = add.call(this, type, listener);
      if (type === "uncaughtException" || type === "unhandledRejection" || type === "rejectionHandled" ||
          type === "uncaughtExceptionMonitor") {
        require("internal/process/uncaught").listen();
      }
      return result;
    },
    writable: true,
    enumerable: false,
    configurable: true,
  });
}
