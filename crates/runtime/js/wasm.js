// @ts-check
"use strict";
// https://webassembly.github.io/spec/js-api/ and web-api/. V8 has all of it; this changes two
// things before an app sees it (src/lazy_globals.rs): shared memory is refused, and asynchronous
// compilation is done at once behind a promise. V8 would compile on threads of its own, whose time
// is charged to no app, and finish in tasks that only an embedder with a message loop runs.

const {
  FunctionPrototypeCall, ObjectDefineProperty, PromisePrototypeThen, PromiseReject, PromiseResolve, ReflectConstruct, TypeError,
} = require("primordials");
const webidl = require("webidl");
const { arrayBuffer, isResponse } = require("fetch/response");
const { away } = require("extras");

const mime = lazy("infra/mime");

/** V8's own. */
const { wasm } = away;

function change() {
  const { Memory, Module, Instance } = wasm;
  define(wasm, "Memory", guarded(Memory), true);
  define(Memory.prototype, "constructor", wasm.Memory, true);

  const compile = (bytes) => new Module(bytes);
  const instantiate = (source, imports) => {
    if (source instanceof Module) return new Instance(source, imports);
    const module = compile(source);
    return { module, instance: new Instance(module, imports) };
  };
  method(wasm, "compile", 1, (bytes) => compile(bytes));
  method(wasm, "instantiate", 1, instantiate);
  method(wasm, "compileStreaming", 1, (source) => PromisePrototypeThen(responseBytes(source), compile));
  method(wasm, "instantiateStreaming", 1, (source, imports) =>
    PromisePrototypeThen(responseBytes(source), (bytes) => instantiate(bytes, imports)));
}

/** A promise-returning function: what `f` throws rejects. */
function method(wasm, name, length, f) {
  const value = function (source, imports) {
    try {
      return PromiseResolve(f(source, imports));
    } catch (error) {
      return PromiseReject(error);
    }
  };
  ObjectDefineProperty(value, "name", { __proto__: null, value: name, configurable: true });
  ObjectDefineProperty(value, "length", { __proto__: null, value: length, configurable: true });
  ObjectDefineProperty(wasm, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

function responseBytes(source) {
  return PromisePrototypeThen(PromiseResolve(source), (response) => {
    if (!isResponse(response)) throw new TypeError("A Response, or a promise of one, was expected");
    if (!response.ok) throw new TypeError(`The response's status is ${response.status}`);
    const type = response.headers.get("content-type");
    if (type === null || mime.use().extractMimeType(type)?.essence !== "application/wasm") {
      throw new TypeError(`The response's type is ${type === null ? "missing" : `'${type}'`}: 'application/wasm' was expected`);
    }
    return FunctionPrototypeCall(arrayBuffer, response);
  });
}

/** The constructor of memories, less the shared ones. */
function guarded(Memory) {
  const Guarded = function (descriptor) {
    if (new.target === undefined) throw new TypeError("WebAssembly.Memory must be invoked with 'new'");
    return ReflectConstruct(Memory, [webidl.isObject(descriptor) ? unshared(descriptor) : descriptor], new.target);
  };
  ObjectDefineProperty(Guarded, "name", { __proto__: null, value: "Memory", configurable: true });
  define(Guarded, "prototype", Memory.prototype, false);
  return Guarded;
}

/** A copy, so that what is checked is what V8 sees. */
function unshared(descriptor) {
  if (descriptor.shared) throw new TypeError("WebAssembly.Memory(): shared memory is not available");
  const copy = { __proto__: null };
  const keys = ["address", "initial", "minimum", "maximum"];
  for (let i = 0; i < keys.length; i++) {
    const value = descriptor[keys[i]];
    if (value !== undefined) copy[keys[i]] = value;
  }
  return copy;
}

function define(on, name, value, writable) {
  ObjectDefineProperty(on, name, { __proto__: null, value, writable, enumerable: false, configurable: writable });
}

change();

module.exports = { WebAssembly: wasm };
