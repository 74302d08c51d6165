// @ts-check
"use strict";
// What Node's `util` needs of the runtime: of which kind a value is, and what only V8 can see in it.

const { ArrayPrototypePush, FunctionPrototypeCall, ObjectGetPrototypeOf } = require("primordials");
const {
  op_node_constructor_name, op_node_entries, op_node_is, op_node_keys, op_node_kinds, op_node_promise, op_node_proxy,
} = require("ops");
const { isDOMException } = require("dom/exception");
const { platformClassOf } = require("platform_classes");

/** The kinds in the order of the bits of `kindsOf`, under the names of util.types. */
const kinds = [
  "isExternal", "isDate", "isArgumentsObject", "isBigIntObject", "isBooleanObject", "isNumberObject", "isStringObject",
  "isSymbolObject", "isNativeError", "isRegExp", "isAsyncFunction", "isGeneratorFunction", "isGeneratorObject", "isPromise",
  "isMap", "isSet", "isMapIterator", "isSetIterator", "isWeakMap", "isWeakSet", "isArrayBuffer", "isDataView",
  "isSharedArrayBuffer", "isProxy", "isModuleNamespaceObject",
];

function kindsOf(value) { return op_node_kinds(value); }
function isKind(value, kind) { return op_node_is(value, kind); }
function proxyDetails(value) { return op_node_proxy(value); }
function promiseDetails(value) { return op_node_promise(value); }
function entriesOf(value) { return op_node_entries(value); }
function constructorName(value) { return op_node_constructor_name(value); }

/** Own keys that are no indices. */
function keysOf(object, enumerableOnly) { return op_node_keys(object, enumerableOnly === true); }

/** How far up a prototype chain to look: a Proxy can make it endless. */
const MAX_CHAIN = 100;

/** What an object of the web platform has to show: [[name, value, ...], [key, value, ...]]; undefined for any other. */
function platformDetails(object) {
  let at = object;
  for (let i = 0; i < MAX_CHAIN && at !== null; i++) {
    at = ObjectGetPrototypeOf(at);
    const found = at === null ? undefined : platformClassOf(at);
    if (found === undefined) continue;
    const { attributes, pairs } = found;
    const shown = [];
    try {
      for (let j = 0; j < attributes.length; j += 2) {
        ArrayPrototypePush(shown, attributes[j]);
        ArrayPrototypePush(shown, FunctionPrototypeCall(attributes[j + 1], object, object));
      }
      return [shown, pairs === undefined ? [] : pairs(object)];
    } catch {
      return undefined; // it has the prototype alone
    }
  }
  return undefined;
}

module.exports = {
  constructorName, entriesOf, isDOMException, isKind, keysOf, kinds, kindsOf, platformDetails, promiseDetails, proxyDetails,
};
