// @ts-check
"use strict";
// Node's modules, the files of `crates/node`. They are app-level code: each runs once, when it is first required, with the
// built-ins as the app has changed them. What they need of the runtime they get by `binding(name)`: the exports of a file of
// this folder, which alone has natives. What a binding exports an app can reach, so it takes any argument without harm.

const {
  ReflectApply, SafeMap, StringPrototypeEndsWith, StringPrototypeLastIndexOf,
  StringPrototypeSlice, StringPrototypeStartsWith, TypeError,
} = require("primordials");
const { op_node_body, op_node_file } = require("ops");

const bindings = {
  __proto__: null,
  async_hooks: lazy("node/async_hooks"),
  buffer: lazy("node/buffer"),
  events: lazy("node/events"),
  module: lazy("node/module"),
  process: lazy("node/process"),
  util: lazy("node/util"),
  v8: lazy("node/v8"),
  vm: lazy("node/vm"),
  zlib: lazy("node/zlib"),
};

function binding(name) {
  const file = bindings[name];
  if (file === undefined) throw new TypeError(`there is no binding ${name}`);
  return file.use();
}

/** By the file's name. A file is here from the moment it starts to run. */
let modules;

/** The exports of a file: `fs/promises`, `internal/errors`. */
function requireNode(name) {
  modules ??= new SafeMap();
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

/** The file that a file's `require` means: `node:path`, `path`, `internal/errors`, or `./errors` beside it. */
function fileOf(specifier, from) {
  if (StringPrototypeStartsWith(specifier, "node:")) return StringPrototypeSlice(specifier, 5);
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
