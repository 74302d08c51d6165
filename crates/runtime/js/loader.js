// @ts-check
"use strict";
// The module system of the built-in files: a file can require the files before it in the list of
// `src/bootstrap.rs`, and no others, so cycles cannot exist. The body of `(extras, compile, supply)
// => ({ define, finish })`.
//
// Most files are lazy: they run at the first use of their exports, which may be long after an app
// has changed every built-in. Until then a context has only their body. Code that refers to a lazy
// file has a File, by `lazy(name)`: `use()` returns its exports, and `exports` is undefined as long
// as it has not run, so a check whether an object is of its class need not run it.
//
// Of files that have run when the snapshot is made, each context has the exports that some lazy
// file requires, and no more: an object of twenty properties costs V8 twenty property descriptions.

/** Fields, not assignments: those would call setters that an app has put on Object.prototype. */
class File {
  name;
  /** Its place in the list. */
  number = -1;
  /** @type {any} Until it has run; undefined for rare files, which are compiled when they are to run. */
  body = undefined;
  /** @type {any} */
  exports = undefined;

  constructor(name) {
    this.name = name;
  }

  use() {
    return this.exports === undefined ? run(this) : this.exports;
  }
}

const files = { __proto__: null };

/** The file, also one that comes later in the list. */
function fileOf(name) {
  return (files[name] ??= new File(name));
}

/** The same for code that may use all of its exports. */
function lazy(name) {
  if (!finished) want(name, ALL);
  return fileOf(name);
}

/** What fails (for want of stack, say) can be tried again: nothing is kept of it. */
function run(file) {
  const { number } = file;
  const body = file.body === undefined ? compile(number) : file.body;
  const module = { exports: {} };
  body((name) => requireBefore(name, number), module, lazy);
  file.body = undefined;
  return (file.exports = module.exports);
}

let finished = false;

function requireBefore(name, number) {
  // The natives that the file names, and no others.
  if (name === "ops") return supply(number);
  const file = files[name];
  if (file === undefined || file.number >= number) {
    throw new Error(`${name} is not loaded yet: put it earlier in the list of src/bootstrap.rs`);
  }
  if (file.exports === undefined && !finished) {
    throw new Error(`${name} is lazy, and this file is not: use lazy("${name}")`);
  }
  return file.use();
}

fileOf("extras").exports = extras;

const ALL = "*";
/** What will be wanted of each file later: a name of the file, and in it names of exports. Let go of at the end. */
let wanted = { __proto__: null };
let count = 0;

function want(file, name) {
  (wanted[file] ??= { __proto__: null })[name] = true;
}

/** `text` is given for lazy files. */
function define(name, body, text) {
  const file = fileOf(name);
  file.number = count++;
  file.body = body;
  if (text === undefined) return run(file);
  const others = text.replace(/const \{([^}]*)\}\s*=\s*require\("([^"]+)"\)/g, (_, names, from) => {
    for (const part of names.split(",")) if (part.trim() !== "") want(from, part.split(":")[0].trim());
    return "";
  });
  for (const [, from] of others.matchAll(/\b(?:require|lazy)\("([^"]+)"\)/g)) want(from, ALL);
  return undefined;
}

/**
 * All files are defined. Lets go of the exports that no lazy file will ask for.
 * @param {string[]} globals what Rust will ask for: file, name, file, name...
 */
function finish(globals) {
  for (let i = 0; i < globals.length; i += 2) want(globals[i], globals[i + 1]);
  if (ALL in wanted.primordials) throw new Error("primordials must be taken by const { ... } =");
  const nothing = { __proto__: null };
  for (const name in files) {
    const file = files[name];
    if (file.number < 0 && file.exports === undefined) throw new Error(`${name} is not in the list of src/bootstrap.rs`);
    const names = wanted[name];
    if (file.exports === undefined || (names !== undefined && ALL in names)) continue;
    const kept = names === undefined ? nothing : { __proto__: null };
    for (const key in names) {
      if (!(key in file.exports)) throw new Error(`${name} does not export ${key}`);
      kept[key] = file.exports[key];
    }
    file.exports = kept;
  }
  wanted = undefined;
  finished = true;
  // V8's own, which built-in code does not use.
  for (const key of ["console", "trace", "isTraceCategoryEnabled"]) delete extras[key];
}

// For the globals of src/lazy_globals.rs.
extras.load = (file, name) => files[file].use()[name];
extras.away = { __proto__: null, wasm: undefined };

return { __proto__: null, define, finish };
