// @ts-check
"use strict";
// DOMException (https://webidl.spec.whatwg.org/#idl-DOMException) and QuotaExceededError, the one interface that
// derives from it. No ops. Its prototype inherits from Error.prototype, though the class is no subclass of Error.
//
// Deviation: `stack` is an own property, as it is for all errors of V8.

const {
  Error, ErrorCaptureStackTrace, ErrorPrototype, ObjectSetPrototypeOf, RangeError, ReflectConstruct, SafeMap,
} = require("primordials");
const webidl = require("webidl");
const { converters } = webidl;

// Constant, name, in the order of the legacy codes, which begin at 1; those without a name were never thrown.
const LEGACY = [
  ["INDEX_SIZE_ERR", "IndexSizeError"],
  ["DOMSTRING_SIZE_ERR", undefined],
  ["HIERARCHY_REQUEST_ERR", "HierarchyRequestError"],
  ["WRONG_DOCUMENT_ERR", "WrongDocumentError"],
  ["INVALID_CHARACTER_ERR", "InvalidCharacterError"],
  ["NO_DATA_ALLOWED_ERR", undefined],
  ["NO_MODIFICATION_ALLOWED_ERR", "NoModificationAllowedError"],
  ["NOT_FOUND_ERR", "NotFoundError"],
  ["NOT_SUPPORTED_ERR", "NotSupportedError"],
  ["INUSE_ATTRIBUTE_ERR", "InUseAttributeError"],
  ["INVALID_STATE_ERR", "InvalidStateError"],
  ["SYNTAX_ERR", "SyntaxError"],
  ["INVALID_MODIFICATION_ERR", "InvalidModificationError"],
  ["NAMESPACE_ERR", "NamespaceError"],
  ["INVALID_ACCESS_ERR", "InvalidAccessError"],
  ["VALIDATION_ERR", undefined],
  ["TYPE_MISMATCH_ERR", "TypeMismatchError"],
  ["SECURITY_ERR", "SecurityError"],
  ["NETWORK_ERR", "NetworkError"],
  ["ABORT_ERR", "AbortError"],
  ["URL_MISMATCH_ERR", "URLMismatchError"],
  ["QUOTA_EXCEEDED_ERR", "QuotaExceededError"],
  ["TIMEOUT_ERR", "TimeoutError"],
  ["INVALID_NODE_TYPE_ERR", "InvalidNodeTypeError"],
  ["DATA_CLONE_ERR", "DataCloneError"],
];

const constants = { __proto__: /** @type {any} */ (null) };
const codes = new SafeMap();
for (let i = 0; i < LEGACY.length; i++) {
  constants[/** @type {string} */ (LEGACY[i][0])] = i + 1;
  if (LEGACY[i][1] !== undefined) codes.set(LEGACY[i][1], i + 1);
}

/** Puts private fields on an object that another constructor made. */
class State extends (/** @type {any} */ (function (object) { return object; })) {
  #message;
  #name;
  constructor(object, message, name) {
    super(object);
    this.#message = message;
    this.#name = name;
  }
  static message(object) { return object.#message; }
  static nameOf(object) { return object.#name; }
  static isIn(object) { return #name in object; }
}

function isDOMException(value) {
  return webidl.isObject(value) && State.isIn(value);
}

class DOMException {
  constructor(message = "", name = "Error") {
    const prefix = "Failed to construct 'DOMException'";
    message = converters.DOMString(message, prefix, "Argument 1");
    name = converters.DOMString(name, prefix, "Argument 2");
    // A true error, so that V8 (Error.isError, the inspector, the serialiser) takes it for one; but no subclass of Error.
    const exception = ReflectConstruct(Error, [], new.target);
    new State(exception, message, name);
    // Once more, since the first line of a stack is made from name and message.
    ErrorCaptureStackTrace(exception, new.target);
    return exception;
  }

  get name() { return State.nameOf(this); }
  get message() { return State.message(this); }
  get code() {
    const code = codes.get(State.nameOf(this));
    return code === undefined ? 0 : code;
  }
}
ObjectSetPrototypeOf(DOMException.prototype, ErrorPrototype);
webidl.configureInterface(DOMException);
webidl.defineConstants(DOMException, constants);

const convertQuotaOptions = webidl.createDictionaryConverter("QuotaExceededErrorOptions", [
  { key: "quota", converter: converters.double },
  { key: "requested", converter: converters.double },
]);

class QuotaExceededError extends DOMException {
  #quota;
  #requested;

  constructor(message = "", options = undefined) {
    const prefix = "Failed to construct 'QuotaExceededError'";
    message = converters.DOMString(message, prefix, "Argument 1");
    const { quota, requested } = convertQuotaOptions(options, prefix, "Argument 2");
    super(message, "QuotaExceededError");
    if (quota < 0 || requested < 0) throw new RangeError(`${prefix}: a quota or an amount is negative`);
    if (requested < quota) throw new RangeError(`${prefix}: less was requested than the quota has`);
    this.#quota = quota === undefined ? null : quota;
    this.#requested = requested === undefined ? null : requested;
  }

  get quota() { return this.#quota; }
  get requested() { return this.#requested; }
}
webidl.configureInterface(QuotaExceededError);

module.exports = { DOMException, QuotaExceededError, isDOMException };
