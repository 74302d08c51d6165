// @ts-check
"use strict";
// The module system of the built-in files: a file gets at those before it in the list of `src/bootstrap.rs`, and at no
// other, so cycles cannot exist. The body of `(ops, extras, compile) => ({ define, finish })`.
//
// Most files are lazy: they run when something of theirs is first used, which may be long after an app has changed every
// built-in there is. Until then a context has nothing of them but their body. What refers to a lazy file has a File, by
// `lazy(name)`: `use()` gives what it exports, and `exports` is undefined for as long as it has not run, so whoever asks
// whether an object is of its class need not run it to say no.

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
function lazy(name) {
  return (files[name] ??= new File(name));
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
  const file = files[name];
  if (file === undefined || file.number >= number) {
    throw new Error(`${name} is not loaded yet: put it earlier in the list of src/bootstrap.rs`);
  }
  if (file.exports === undefined && !finished) {
    throw new Error(`${name} is lazy, and this file is not: use lazy("${name}")`);
  }
  return file.use();
}

lazy("ops").exports = ops;
lazy("extras").exports = extras;

/** Names of primordials that lazy files want. */
let wanted = { __proto__: null };
let count = 0;

/** `text` is given for lazy files. */
function define(name, body, text) {
  const file = lazy(name);
  file.number = count++;
  file.body = body;
  if (text === undefined) return run(file);
  const found = text.match(/const \{([^}]*)\}\s*=\s*require\("primordials"\)/);
  if (found === null) {
    if (text.includes('require("primordials")')) throw new Error(`${name} must take its primordials by const { ... } =`);
    return undefined;
  }
  for (const part of found[1].split(",")) if (part.trim() !== "") wanted[part.trim()] = true;
  return undefined;
}

/** All files are defined. Lets go of the primordials that no lazy file will ask for. */
function finish() {
  for (const name in files) {
    const { number, exports } = files[name];
    if (number < 0 && exports === undefined) throw new Error(`${name} is not in the list of src/bootstrap.rs`);
  }
  const all = lazy("primordials").exports;
  const kept = { __proto__: null };
  for (const name in wanted) {
    if (!(name in all)) throw new Error(`there is no primordial ${name}`);
    kept[name] = all[name];
  }
  lazy("primordials").exports = kept;
  wanted = undefined;
  finished = true;
}

/** For the globals of src/globals.rs. */
extras.load = (file, name) => files[file].use()[name];

return { __proto__: null, define, finish };
