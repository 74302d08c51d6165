// @ts-check
"use strict";
// Node's modules, the files of `crates/node`. They are app-level code: each runs once, when it is first required, with the
// built-ins as the app has changed them. What they need of the runtime they get by `binding(name)`: the exports of a file of
// this folder, which alone has natives. What a binding exports an app can reach, so it takes any argument without harm.

const {
  ObjectDefineProperty, ReflectApply, ReflectGetOwnPropertyDescriptor, SafeMap, StringPrototypeEndsWith, StringPrototypeLastIndexOf,
  StringPrototypeSlice, StringPrototypeStartsWith, TypeError,
} = require("primordials");
const { console } = require("console");
const { op_node_body, op_node_file } = require("ops");

const bindings = {
  __proto__: null,
  async_hooks: lazy("node/async_hooks"),
  buffer: lazy("node/buffer"),
  crypto: lazy("node/crypto"),
  events: lazy("node/events"),
  http: lazy("node/http"),
  module: lazy("node/module"),
  modules: lazy("node/modules"),
  fs: lazy("node/fs"),
  net: lazy("node/net"),
  process: lazy("node/process"),
  timers: lazy("node/timers"),
  workers: lazy("node/workers"),
  util: lazy("node/util"),
  v8: lazy("node/v8"),
  vm: lazy("node/vm"),
  zlib: lazy("node/zlib"),
};

const scopes = lazy("globals");
const webTimers = lazy("node/timers");
const TIMERS = ["setTimeout", "setInterval", "clearTimeout", "clearInterval"];
/** What Node's global console has beside its methods. */
const OF_CONSOLE = ["Console", "_stdout", "_stderr", "_times"];

function binding(name) {
  const file = bindings[name];
  if (file === undefined) throw new TypeError(`there is no binding ${name}`);
  return file.use();
}

/** By the file's name. A file is here from the moment it starts to run. */
let modules;

/** The exports of a file: `fs/promises`, `internal/errors`. */
function requireNode(name) {
  if (modules === undefined) {
    modules = new SafeMap();
    useNodeTimers();
    useNodeConsole();
  }
  const known = modules.get(name);
  if (known !== undefined) return known.exports;
  const body = op_node_body(name);
  const module = { exports: {}, id: name };
  modules.set(name, module);
  const requireHere = (specifier) => requireNode(fileOf(`${specifier}`, name));
  let done = false;
  try {
    ReflectApply(body, module.exports, [module.exports, requireHere, module, binding]);
    done = true;
  } finally {
    if (!done) modules.delete(name);
  }
  return module.exports;
}

/**
 * An app that uses Node's modules has Node's timers as its globals: packages call `setTimeout(...).unref()`. Those that the app
 * has replaced stay.
 */
function useNodeTimers() {
  const { scope } = scopes.use();
  const { web } = webTimers.use();
  const ours = requireNode("timers");
  for (let i = 0; i < TIMERS.length; i++) {
    const name = TIMERS[i];
    if (scope[name] !== web[name]) continue;
    ObjectDefineProperty(scope, name, {
      __proto__: null, value: ours[name], writable: true, enumerable: true, configurable: true,
    });
  }
}

/** The console's additions are made when they are asked for, by Node's own module. */
function useNodeConsole() {
  for (let i = 0; i < OF_CONSOLE.length; i++) {
    const name = OF_CONSOLE[i];
    if (ReflectGetOwnPropertyDescriptor(console, name) !== undefined) continue;
    ObjectDefineProperty(console, name, {
      __proto__: null, enumerable: false, configurable: true,
      get: () => requireNode("internal/console_global").get(name),
      set: (value) => requireNode("internal/console_global").set(name, value),
    });
  }
}

/** The file that a file's `require` means: `node:path`, `path`, `internal/errors`, or `./errors` beside it. */
function fileOf(specifier, from) {
  if (StringPrototypeStartsWith(specifier, "node:")) return StringPrototypeSlice(specifier, 5);
  // Packages ask so for a package that has the name of one of Node's modules, which here is that module.
  if (StringPrototypeEndsWith(specifier, "/")) return StringPrototypeSlice(specifier, 0, -1);
  if (!StringPrototypeStartsWith(specifier, ".")) return specifier;
  let folder = parentOf(from);
  let rest = specifier;
  for (;;) {
    if (StringPrototypeStartsWith(rest, "./")) {
      rest = StringPrototypeSlice(rest, 2);
    } else if (StringPrototypeStartsWith(rest, "../")) {
      rest = StringPrototypeSlice(rest, 3);
      folder = parentOf(StringPrototypeSlice(folder, 0, -1));
    } else {
      break;
    }
  }
  if (StringPrototypeEndsWith(rest, ".js")) rest = StringPrototypeSlice(rest, 0, -3);
  return folder + rest;
}

/** With its slash; empty for files at the top. */
function parentOf(name) {
  return StringPrototypeSlice(name, 0, StringPrototypeLastIndexOf(name, "/") + 1);
}

/** The exports of the module that an app imports by this id, `node:fs`; undefined where there is none. */
function requireById(id) {
  const file = op_node_file(id);
  return file === undefined ? undefined : requireNode(file);
}

module.exports = { requireById, requireNode };
