"use strict";
// node:os (https://nodejs.org/api/os.html): values of a plain Linux machine, the same for all apps; nothing of the real one.
//
// Deviations: all is constant, but totalmem and freemem, which are the isolate's; setPriority throws.

const { refuse } = require("internal/unavailable");
const { SIGNALS, errno } = constantsOf();

function constantsOf() {
  const { byNumber } = require("internal/system_errors");
  const errors = {};
  for (const [number, [name]] of byNumber) if (number > -200) errors[name] = -number;
  return { SIGNALS: require("internal/signals"), errno: errors };
}

const named = (fn, value) => {
  // `${os.hostname}` is the host's name.
  fn[Symbol.toPrimitive] = () => value;
  return fn;
};
const constant = (value) => named(() => value, value);
const number = (fn) => {
  fn[Symbol.toPrimitive] = () => fn();
  return fn;
};

const NO_MAC = "00:00:00:00:00:00";

function tmpdir() {
  const { TMPDIR, TMP, TEMP } = require("process").env;
  const path = TMPDIR || TMP || TEMP || "/tmp";
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}
tmpdir[Symbol.toPrimitive] = () => tmpdir();

function userInfo(options = undefined) {
  const encode = options?.encoding === "buffer" ? (text) => Buffer.from(text) : (text) => text;
  return { uid: 1000, gid: 1000, username: encode("app"), homedir: encode("/"), shell: encode("/bin/sh") };
}

const checkPid = (pid) => require("internal/validators").validateInt32(pid, "pid");

const memory = () => binding("process").memory();

module.exports = {
  devNull: "/dev/null",
  arch: constant("x64"),
  availableParallelism: constant(1),
  constants: Object.freeze({
    __proto__: null,
    UV_UDP_REUSEADDR: 4,
    dlopen: Object.freeze({ __proto__: null, RTLD_LAZY: 1, RTLD_NOW: 2, RTLD_GLOBAL: 256, RTLD_LOCAL: 0, RTLD_DEEPBIND: 8 }),
    errno: Object.freeze(errno),
    signals: Object.freeze({ __proto__: null, ...(SIGNALS.signals ?? SIGNALS) }),
    priority: Object.freeze({
      __proto__: null, PRIORITY_LOW: 19, PRIORITY_BELOW_NORMAL: 10, PRIORITY_NORMAL: 0, PRIORITY_ABOVE_NORMAL: -7,
      PRIORITY_HIGH: -14, PRIORITY_HIGHEST: -20,
    }),
  }),
  cpus: () => [{ model: "virtual", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }],
  endianness: constant("LE"),
  freemem: number(() => {
    const { heapLimit, heapUsed } = memory();
    return Math.max(heapLimit - heapUsed, 0);
  }),
  getPriority: (pid = 0) => {
    checkPid(pid);
    return 0;
  },
  homedir: constant("/"),
  hostname: constant("localhost"),
  loadavg: () => [0, 0, 0],
  machine: constant("x86_64"),
  networkInterfaces: () => ({
    lo: [
      { address: "127.0.0.1", netmask: "255.0.0.0", family: "IPv4", mac: NO_MAC, internal: true, cidr: "127.0.0.1/8" },
      {
        address: "::1", netmask: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", family: "IPv6", mac: NO_MAC, internal: true,
        cidr: "::1/128", scopeid: 0,
      },
    ],
  }),
  platform: constant("linux"),
  release: constant("6.1.0"),
  setPriority: (pid, priority) => {
    if (priority === undefined) [pid, priority] = [0, pid];
    checkPid(pid);
    require("internal/validators").validateInt32(priority, "priority", -20, 19);
    refuse("os.setPriority()", "the server decides when an app runs")();
  },
  tmpdir,
  totalmem: number(() => memory().heapLimit),
  type: constant("Linux"),
  uptime: number(() => require("process").uptime()),
  userInfo,
  version: constant("#1 SMP"),
};
Object.defineProperty(module.exports, "EOL", { value: "\n", writable: false, enumerable: true, configurable: true });
