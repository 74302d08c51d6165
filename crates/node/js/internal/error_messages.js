"use strict";
// The messages of Node's errors by their codes (https://nodejs.org/api/errors.html#nodejs-error-codes): the class, the text
// and, where a module throws the same code with another class, those too (`ERR_INVALID_STATE.TypeError`). A text takes its
// arguments in the places of %s, %d and %j; a function makes the text, and may set properties of the error, its `this`.

const E = Error, T = TypeError, R = RangeError;

/** "a", "a and b", "a, b, and c" */
function formatList(list, word = "and") {
  if (list.length < 3) return list.join(` ${word} `);
  return `${list.slice(0, -1).join(", ")}, ${word} ${list[list.length - 1]}`;
}

/** A value as errors show it: by its type, and briefly. */
function determineSpecificType(value) {
  if (value === null || value === undefined) return `${value}`;
  switch (typeof value) {
    case "function": return `function ${value.name}`;
    case "object":
      if (value.constructor && "name" in value.constructor) return `an instance of ${value.constructor.name}`;
      return require("util").inspect(value, { depth: -1 });
    case "string": {
      const text = value.length > 28 ? `${value.slice(0, 25)}...` : value;
      return `type string (${text.includes("'") ? JSON.stringify(text) : `'${text}'`})`;
    }
    case "bigint": return `type bigint (${value}n)`;
    case "number": return `type number (${Object.is(value, -0) ? "-0" : value})`;
    default: return `type ${typeof value} (${String(value)})`;
  }
}

const TYPES = new Set(["string", "function", "number", "object", "Function", "Object", "boolean", "bigint", "symbol"]);

function argumentOrProperty(name) {
  return name.includes(".") ? "property" : "argument";
}

function invalidArgType(name, expected, actual) {
  const types = [], classes = [], others = [];
  for (const item of Array.isArray(expected) ? expected : [expected]) {
    if (TYPES.has(item)) types.push(item.toLowerCase());
    else if (/^[A-Z][a-zA-Z0-9]*$/.test(item)) classes.push(item);
    else others.push(item);
  }
  const object = types.indexOf("object");
  if (classes.length > 0 && object >= 0) {
    types.splice(object, 1);
    classes.push("Object");
  }
  const parts = [];
  if (types.length > 0) parts.push(`${types.length > 1 ? "one of type" : "of type"} ${formatList(types, "or")}`);
  if (classes.length > 0) parts.push(`an instance of ${formatList(classes, "or")}`);
  if (others.length > 1) parts.push(`one of ${formatList(others, "or")}`);
  else if (others.length === 1) parts.push(others[0].toLowerCase() === others[0] ? others[0] : `an ${others[0]}`);
  const subject = name.endsWith(" argument") ? name : `"${name}" ${argumentOrProperty(name)}`;
  return `The ${subject} must be ${parts.join(" or ")}. Received ${determineSpecificType(actual)}`;
}

function invalidArgValue(name, value, reason = "is invalid") {
  let text = require("util").inspect(value);
  if (text.length > 128) text = `${text.slice(0, 128)}...`;
  return `The ${argumentOrProperty(name)} '${name}' ${reason}. Received ${text}`;
}

/** 12345678 -> 12_345_678 */
function grouped(digits) {
  return digits.replace(/\d(?=(\d{3})+$)/g, "$&_");
}

function outOfRange(name, range, input, wholeText = false) {
  let received;
  if (typeof input === "bigint") {
    const large = input > 2n ** 32n || input < -(2n ** 32n);
    received = `${large ? grouped(`${input}`) : input}n`;
  } else if (Number.isInteger(input) && Math.abs(input) > 2 ** 32) {
    received = grouped(`${input}`);
  } else {
    received = require("util").inspect(input);
  }
  const subject = wholeText ? name : `The value of "${name}" is out of range.`;
  return `${subject} It must be ${range}. Received ${received}`;
}

function missingArgs(...names) {
  const quoted = names.map((name) => (Array.isArray(name) ? name.map((one) => `"${one}"`).join(" or ") : `"${name}"`));
  return `The ${formatList(quoted)} argument${names.length > 1 ? "s" : ""} must be specified`;
}

const messages = {
  __proto__: null,
  ERR_ACCESS_DENIED: [E, function (message, permission = "", resource = "") {
    this.permission = permission;
    this.resource = resource;
    return message;
  }],
  ERR_AMBIGUOUS_ARGUMENT: [T, 'The "%s" argument is ambiguous. %s'],
  ERR_ARG_NOT_ITERABLE: [T, "%s must be iterable"],
  ERR_ASSERTION: [E, "%s"],
  ERR_ASYNC_CALLBACK: [T, "%s must be a function"],
  ERR_ASYNC_TYPE: [T, 'Invalid name for async "type": %s'],
  ERR_BROTLI_INVALID_PARAM: [R, "%s is not a valid Brotli parameter"],
  ERR_BUFFER_OUT_OF_BOUNDS: [R, (name = undefined) =>
    name ? `"${name}" is outside of buffer bounds` : "Attempt to access memory outside buffer bounds"],
  ERR_BUFFER_TOO_LARGE: [R, "Cannot create a Buffer larger than %s bytes"],
  ERR_CONSOLE_WRITABLE_STREAM: [T, "Console expects a writable stream instance for %s"],
  ERR_CONSTRUCT_CALL_REQUIRED: [T, "Class constructor %s cannot be invoked without `new`"],
  ERR_CONSTRUCT_CALL_INVALID: [T, "Constructor cannot be called"],
  ERR_CONTEXT_NOT_INITIALIZED: [E, "context used is not initialized"],
  ERR_CRYPTO_CUSTOM_ENGINE_NOT_SUPPORTED: [E, "Custom engines not supported by this OpenSSL"],
  ERR_CRYPTO_ECDH_INVALID_FORMAT: [T, "Invalid ECDH format: %s"],
  ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY: [E, "Public key is not valid for specified curve"],
  ERR_CRYPTO_ENGINE_UNKNOWN: [E, 'Engine "%s" was not found'],
  ERR_CRYPTO_FIPS_UNAVAILABLE: [E, "Cannot set FIPS mode in a non-FIPS build."],
  ERR_CRYPTO_HASH_FINALIZED: [E, "Digest already called"],
  ERR_CRYPTO_HASH_UPDATE_FAILED: [E, "Hash update failed"],
  ERR_CRYPTO_INCOMPATIBLE_KEY: [E, "Incompatible %s: %s"],
  ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS: [E, "The selected key encoding %s %s."],
  ERR_CRYPTO_INITIALIZATION_FAILED: [E, "Initialization failed"],
  ERR_CRYPTO_INVALID_AUTH_TAG: [T, "Invalid authentication tag length: %s"],
  ERR_CRYPTO_INVALID_COUNTER: [T, "Invalid counter"],
  ERR_CRYPTO_INVALID_CURVE: [T, "Invalid EC curve name"],
  ERR_CRYPTO_INVALID_DIGEST: [T, "Invalid digest: %s"],
  ERR_CRYPTO_INVALID_IV: [T, "Invalid initialization vector"],
  ERR_CRYPTO_INVALID_JWK: [T, "Invalid JWK data"],
  ERR_CRYPTO_INVALID_KEYLEN: [R, "Invalid key length"],
  ERR_CRYPTO_INVALID_KEYPAIR: [R, "Invalid key pair"],
  ERR_CRYPTO_INVALID_KEYTYPE: [R, "Invalid key type"],
  ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE: [T, "Invalid key object type %s, expected %s."],
  ERR_CRYPTO_INVALID_MESSAGELEN: [R, "Invalid message length"],
  ERR_CRYPTO_INVALID_SCRYPT_PARAMS: [R, "Invalid scrypt params%s"],
  ERR_CRYPTO_INVALID_STATE: [E, "Invalid state for operation %s"],
  ERR_CRYPTO_INVALID_TAG_LENGTH: [R, "Invalid taglength"],
  ERR_CRYPTO_JWK_UNSUPPORTED_CURVE: [E, "Unsupported JWK EC curve: %s."],
  ERR_CRYPTO_JWK_UNSUPPORTED_KEY_TYPE: [E, "Unsupported JWK Key Type."],
  ERR_CRYPTO_KEM_NOT_SUPPORTED: [E, "KEM is not supported"],
  ERR_CRYPTO_OPERATION_FAILED: [E, "%s"],
  ERR_CRYPTO_PBKDF2_ERROR: [E, "PBKDF2 error"],
  ERR_CRYPTO_SCRYPT_NOT_SUPPORTED: [E, "Scrypt algorithm not supported"],
  ERR_CRYPTO_SIGN_KEY_REQUIRED: [E, "No key provided to sign"],
  ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH: [R, "Input buffers must have the same byte length"],
  ERR_CRYPTO_UNKNOWN_CIPHER: [E, "Unknown cipher"],
  ERR_CRYPTO_UNKNOWN_DH_GROUP: [E, "Unknown DH group"],
  ERR_CRYPTO_UNSUPPORTED_OPERATION: [E, "%s"],
  ERR_DIR_CLOSED: [E, "Directory handle was closed"],
  ERR_DIR_CONCURRENT_OPERATION: [E,
    "Cannot do synchronous work on directory handle with concurrent asynchronous operations"],
  ERR_DNS_SET_SERVERS_FAILED: [E, 'c-ares failed to set servers: "%s" [%s]'],
  ERR_DOMAIN_CALLBACK_NOT_AVAILABLE: [E, "A callback was registered through " +
    "process.setUncaughtExceptionCaptureCallback(), which is mutually exclusive with using the `domain` module"],
  ERR_DOMAIN_CANNOT_SET_UNCAUGHT_EXCEPTION_CAPTURE: [E, "The `domain` module is in use, which is mutually exclusive " +
    "with calling process.setUncaughtExceptionCaptureCallback()"],
  ERR_ENCODING_INVALID_ENCODED_DATA: [T, function (encoding, errno) {
    this.errno = errno;
    return `The encoded data was not valid for encoding ${encoding}`;
  }],
  ERR_ENCODING_NOT_SUPPORTED: [R, 'The "%s" encoding is not supported'],
  ERR_EVENT_RECURSION: [E, 'The event "%s" is already being dispatched'],
  ERR_FALSY_VALUE_REJECTION: [E, function (reason) {
    this.reason = reason;
    return "Promise was rejected with falsy value";
  }],
  ERR_FEATURE_UNAVAILABLE_ON_PLATFORM: [T,
    "The feature %s is unavailable on the current platform, which is being used to run Node.js"],
  ERR_FS_FILE_TOO_LARGE: [R, "File size (%s) is greater than 2 GiB"],
  ERR_FS_WATCH_QUEUE_OVERFLOW: [E, "fs.watch() queued more than %d events"],
  ERR_HTTP_BODY_NOT_ALLOWED: [E, "Adding content for this request method or response status is not allowed."],
  ERR_HTTP_CONTENT_LENGTH_MISMATCH: [E, "Response body's content-length of %s byte(s) does not match the " +
    "content-length of %s byte(s) set in header"],
  ERR_HTTP_HEADERS_SENT: [E, "Cannot %s headers after they are sent to the client"],
  ERR_HTTP_INVALID_HEADER_VALUE: [T, 'Invalid value "%s" for header "%s"'],
  ERR_HTTP_INVALID_STATUS_CODE: [R, "Invalid status code: %s"],
  ERR_HTTP_REQUEST_TIMEOUT: [E, "Request timeout"],
  ERR_HTTP_SOCKET_ASSIGNED: [E, "ServerResponse has an already assigned socket"],
  ERR_HTTP_SOCKET_ENCODING: [E, "Changing the socket encoding is not allowed per RFC7230 Section 3."],
  ERR_HTTP_TRAILER_INVALID: [E, "Trailers are invalid with this transfer encoding"],
  ERR_HTTP2_CONNECT_AUTHORITY: [E, ":authority header is required for CONNECT requests"],
  ERR_HTTP2_GOAWAY_SESSION: [E, "New streams cannot be created after receiving a GOAWAY"],
  ERR_HTTP2_HEADERS_SENT: [E, "Response has already been initiated."],
  ERR_HTTP2_HEADER_SINGLE_VALUE: [T, 'Header field "%s" must only have a single value'],
  ERR_HTTP2_INFO_STATUS_NOT_ALLOWED: [R, "Informational status codes cannot be used"],
  ERR_HTTP2_INVALID_CONNECTION_HEADERS: [T, 'HTTP/1 Connection specific headers are forbidden: "%s"'],
  ERR_HTTP2_INVALID_HEADER_VALUE: [T, 'Invalid value "%s" for header "%s"'],
  ERR_HTTP2_INVALID_PSEUDOHEADER: [T, '"%s" is an invalid pseudoheader or is used incorrectly'],
  ERR_HTTP2_INVALID_SESSION: [E, "The session has been destroyed"],
  ERR_HTTP2_INVALID_SETTING_VALUE: [T, function (name, actual, min = undefined, max = undefined) {
    this.actual = actual;
    if (min !== undefined) Object.assign(this, { min, max });
    return `Invalid value for setting "${name}": ${actual}`;
  }, R],
  ERR_HTTP2_INVALID_STREAM: [E, "The stream has been destroyed"],
  ERR_HTTP2_SESSION_ERROR: [E, "Session closed with error code %s"],
  ERR_HTTP2_STATUS_INVALID: [R, "Invalid status code: %s"],
  ERR_HTTP2_STREAM_CANCEL: [E, function (error) {
    if (error) this.cause = error;
    const cause = typeof error?.message === "string" ? ` (caused by: ${error.message})` : "";
    return `The pending stream has been canceled${cause}`;
  }],
  ERR_HTTP2_STREAM_ERROR: [E, "Stream closed with error code %s"],
  ERR_HTTP2_UNSUPPORTED_PROTOCOL: [E, 'protocol "%s" is unsupported.'],
  ERR_ILLEGAL_CONSTRUCTOR: [T, "Illegal constructor"],
  ERR_INCOMPATIBLE_OPTION_PAIR: [T, 'Option "%s" cannot be used in combination with option "%s"'],
  ERR_INSPECTOR_NOT_AVAILABLE: [E, "Inspector is not available"],
  ERR_INTERNAL_ASSERTION: [E, (message) => (message === undefined ? "internal assertion failed" : `${message}`)],
  ERR_INVALID_ADDRESS: [E, "Invalid address: %s"],
  ERR_INVALID_ADDRESS_FAMILY: [R, function (family, host, port) {
    Object.assign(this, { host, port });
    return `Invalid address family: ${family} ${host}:${port}`;
  }],
  ERR_INVALID_ARG_TYPE: [T, invalidArgType],
  ERR_INVALID_ARG_VALUE: [T, invalidArgValue, R],
  ERR_INVALID_ASYNC_ID: [R, "Invalid %s value: %s"],
  ERR_INVALID_BUFFER_SIZE: [R, "Buffer size must be a multiple of %s"],
  ERR_INVALID_CHAR: [T, (name, field = undefined) =>
    `Invalid character in ${name}${field === undefined ? "" : ` ["${field}"]`}`],
  ERR_INVALID_CURSOR_POS: [T, "Cannot set cursor row without setting its column"],
  ERR_INVALID_FD: [R, '"fd" must be a positive integer: %s'],
  ERR_INVALID_FD_TYPE: [T, "Unsupported fd type: %s"],
  ERR_INVALID_FILE_URL_HOST: [T, 'File URL host must be "localhost" or empty on %s'],
  ERR_INVALID_FILE_URL_PATH: [T, function (reason, input) {
    this.input = input;
    return `File URL path ${reason}`;
  }],
  ERR_INVALID_HTTP_TOKEN: [T, '%s must be a valid HTTP token ["%s"]'],
  ERR_INVALID_IP_ADDRESS: [T, "Invalid IP address: %s"],
  ERR_INVALID_MIME_SYNTAX: [T, (production, text, index) =>
    `The MIME syntax for a ${production} in "${text}" is invalid${index === -1 ? "" : ` at ${index}`}`],
  ERR_INVALID_MODULE_SPECIFIER: [T, (request, reason, base = undefined) =>
    `Invalid module "${request}" ${reason}${base ? ` imported from ${base}` : ""}`],
  ERR_INVALID_OBJECT_DEFINE_PROPERTY: [T, "%s"],
  ERR_INVALID_PACKAGE_CONFIG: [E, (path, base, message) =>
    `Invalid package config ${path}${base ? ` while importing ${base}` : ""}${message ? `. ${message}` : ""}`],
  ERR_INVALID_PROTOCOL: [T, 'Protocol "%s" not supported. Expected "%s"'],
  ERR_INVALID_RETURN_PROPERTY: [T, (input, name, property, value) =>
    `Expected a valid ${input} to be returned for the "${property}" from the "${name}" hook but got ` +
    `${determineSpecificType(value)}.`],
  ERR_INVALID_RETURN_PROPERTY_VALUE: [T, (input, name, property, value) =>
    `Expected ${input} to be returned for the "${property}" from the "${name}" hook but got ` +
    `${determineSpecificType(value)}.`],
  ERR_INVALID_RETURN_VALUE: [T, (input, name, value) =>
    `Expected ${input} to be returned from the "${name}" function but got ${determineSpecificType(value)}.`, R],
  ERR_INVALID_STATE: [E, "Invalid state: %s", T, R],
  ERR_INVALID_THIS: [T, 'Value of "this" must be of type %s'],
  ERR_INVALID_TUPLE: [T, "%s must be an iterable %s tuple"],
  ERR_INVALID_URI: [URIError, "URI malformed"],
  ERR_INVALID_URL: [T, function (input, base = null) {
    this.input = input;
    if (base !== null && base !== undefined) this.base = base;
    return "Invalid URL";
  }],
  ERR_INVALID_URL_SCHEME: [T, (expected) => {
    const list = typeof expected === "string" ? [expected] : expected;
    return `The URL must be ${list.length === 2 ? `one of scheme ${list[0]} or ${list[1]}` : `of scheme ${list[0]}`}`;
  }],
  ERR_IP_BLOCKED: [E, (ip) => `IP(${ip}) is blocked by net.BlockList`],
  ERR_METHOD_NOT_IMPLEMENTED: [E, "The %s method is not implemented"],
  ERR_MISSING_ARGS: [T, missingArgs],
  ERR_MISSING_OPTION: [T, "%s is required"],
  ERR_MISSING_TRANSFERABLE_IN_TRANSFER_LIST: [T, "Object that needs transfer was found in message but not listed in " +
    "transferList"],
  ERR_MODULE_NOT_FOUND: [E, (path, base, exactUrl) =>
    `Cannot find ${exactUrl ? "module" : "package"} '${path}' imported from ${base}`],
  ERR_MULTIPLE_CALLBACK: [E, "Callback called multiple times"],
  ERR_NOT_AVAILABLE: [E, "%s"],
  ERR_NO_CRYPTO: [E, "Node.js is not compiled with OpenSSL crypto support"],
  ERR_NOT_BUILDING_SNAPSHOT: [E, "Operation cannot be invoked when not building startup snapshot"],
  ERR_OPERATION_FAILED: [E, "Operation failed: %s", T],
  ERR_OUT_OF_RANGE: [R, outOfRange],
  ERR_PARSE_ARGS_INVALID_OPTION_VALUE: [T, "%s"],
  ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL: [T,
    "Unexpected argument '%s'. This command does not take positional arguments"],
  ERR_PARSE_ARGS_UNKNOWN_OPTION: [T, (option, allowPositionals) =>
    `Unknown option '${option}'${allowPositionals ? ". To specify a positional argument starting with a '-', place it at " +
    `the end of the command after '--', as in '-- ${JSON.stringify(option)}` : ""}`],
  ERR_PERFORMANCE_INVALID_TIMESTAMP: [T, "%d is not a valid timestamp"],
  ERR_PERFORMANCE_MEASURE_INVALID_OPTIONS: [T, "%s"],
  ERR_REQUIRE_ASYNC_MODULE: [E,
    "require() cannot be used on an ESM graph with top-level await. Use import() instead."],
  ERR_REQUIRE_CYCLE_MODULE: [E, "%s"],
  ERR_REQUIRE_ESM: [E, (file, _hasSyntax, parent = null) =>
    `require() of ES Module ${file}${parent ? ` from ${parent}` : ""} not supported.`],
  ERR_SCRIPT_EXECUTION_TIMEOUT: [E, "Script execution timed out after %sms"],
  ERR_SERVER_ALREADY_LISTEN: [E, "Listen method has been called more than once without closing."],
  ERR_SERVER_NOT_RUNNING: [E, "Server is not running."],
  ERR_SOCKET_BAD_PORT: [R, (name, port, allowZero = true) =>
    `${name} should be ${allowZero ? ">=" : ">"} 0 and < 65536. Received ${determineSpecificType(port)}.`],
  ERR_SOCKET_BAD_TYPE: [T, "Bad socket type specified. Valid types are: udp4, udp6"],
  ERR_SOCKET_CLOSED: [E, "Socket is closed"],
  ERR_SOCKET_CLOSED_BEFORE_CONNECTION: [E, "Socket closed before the connection was established"],
  ERR_SOCKET_CONNECTION_TIMEOUT: [E, "Socket connection timeout"],
  ERR_STREAM_ALREADY_FINISHED: [E, "Cannot call %s after a stream was finished"],
  ERR_STREAM_CANNOT_PIPE: [E, "Cannot pipe, not readable"],
  ERR_STREAM_DESTROYED: [E, "Cannot call %s after a stream was destroyed"],
  ERR_STREAM_NULL_VALUES: [T, "May not write null values to stream"],
  ERR_STREAM_PREMATURE_CLOSE: [E, "Premature close"],
  ERR_STREAM_PUSH_AFTER_EOF: [E, "stream.push() after EOF"],
  ERR_STREAM_UNABLE_TO_PIPE: [E, "Cannot pipe to a closed or destroyed stream"],
  ERR_STREAM_UNSHIFT_AFTER_END_EVENT: [E, "stream.unshift() after end event"],
  ERR_STREAM_WRAP: [E, "Stream has StringDecoder set or is in objectMode"],
  ERR_STREAM_WRITE_AFTER_END: [E, "write after end"],
  ERR_STRING_TOO_LONG: [E, "Cannot create a string longer than 0x%s characters"],
  ERR_SYNTHETIC: [E, "JavaScript Callstack"],
  ERR_TLS_ALPN_CALLBACK_WITH_PROTOCOLS: [T, "The ALPNCallback and ALPNProtocols TLS options are mutually exclusive"],
  ERR_TLS_CERT_ALTNAME_FORMAT: [SyntaxError, "Invalid subject alternative name string"],
  ERR_TLS_CERT_ALTNAME_INVALID: [E, function (reason, host, cert) {
    Object.assign(this, { reason, host, cert });
    return `Hostname/IP does not match certificate's altnames: ${reason}`;
  }],
  ERR_TLS_DH_PARAM_SIZE: [E, "DH parameter size %s is less than 2048"],
  ERR_TLS_HANDSHAKE_TIMEOUT: [E, "TLS handshake timeout"],
  ERR_TLS_INVALID_CONTEXT: [T, "%s must be a SecureContext"],
  ERR_TLS_INVALID_PROTOCOL_VERSION: [T, "%j is not a valid %s TLS protocol version"],
  ERR_TLS_INVALID_STATE: [E, "TLS socket connection must be securely established"],
  ERR_TLS_PROTOCOL_VERSION_CONFLICT: [T, "TLS protocol version %j conflicts with secureProtocol %j"],
  ERR_TLS_RENEGOTIATION_DISABLED: [E, "TLS session renegotiation disabled for this socket"],
  ERR_TLS_REQUIRED_SERVER_NAME: [E, '"servername" is required parameter for Server.addContext'],
  ERR_TLS_SNI_FROM_SERVER: [E, "Cannot issue SNI from a TLS server-side socket"],
  ERR_TRACE_EVENTS_CATEGORY_REQUIRED: [T, "At least one category is required"],
  ERR_TRAILING_JUNK_AFTER_STREAM_END: [T, "Trailing junk found after the end of the compressed stream"],
  ERR_UNAVAILABLE_DURING_EXIT: [E, "Cannot call function in process exit handler"],
  ERR_UNCAUGHT_EXCEPTION_CAPTURE_ALREADY_SET: [E, "`process.setupUncaughtExceptionCapture()` was called while a capture " +
    "callback was already active"],
  ERR_UNHANDLED_REJECTION: [E, "This error originated either by throwing inside of an async function without a catch block, or by " +
    "rejecting a promise which was not handled with .catch(). The promise rejected with the reason \"%s\"."],
  ERR_UNESCAPED_CHARACTERS: [T, "%s contains unescaped characters"],
  ERR_UNHANDLED_ERROR: [E, (error = undefined) => `Unhandled error.${error === undefined ? "" : ` (${error})`}`],
  ERR_UNKNOWN_BUILTIN_MODULE: [E, "No such built-in module: %s"],
  ERR_UNKNOWN_CREDENTIAL: [E, "%s identifier does not exist: %s"],
  ERR_UNKNOWN_ENCODING: [T, "Unknown encoding: %s"],
  ERR_UNKNOWN_FILE_EXTENSION: [T, 'Unknown file extension "%s" for %s'],
  ERR_UNKNOWN_MODULE_FORMAT: [R, "Unknown module format: %s for URL %s"],
  ERR_UNKNOWN_SIGNAL: [T, "Unknown signal: %s"],
  ERR_UNSUPPORTED_RESOLVE_REQUEST: [T, 'Failed to resolve module specifier "%s" from "%s": Invalid relative URL or base ' +
    "scheme is not hierarchical."],
  ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX: [SyntaxError, "%s"],
  ERR_USE_AFTER_CLOSE: [E, "%s was closed"],
  ERR_VALID_PERFORMANCE_ENTRY_TYPE: [E, "At least one valid performance entry type is required"],
  ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING: [T, "A dynamic import callback was not specified."],
  ERR_VM_MODULE_NOT_MODULE: [E, "Provided module is not an instance of Module"],
  ERR_VM_MODULE_STATUS: [E, "Module status %s"],
  ERR_WEBASSEMBLY_NOT_SUPPORTED: [E, "WebAssembly is not supported in this environment, but is required for %s"],
  ERR_WORKER_INIT_FAILED: [E, "Worker initialization failure: %s"],
  ERR_WORKER_NOT_RUNNING: [E, "Worker instance not running"],
  ERR_WORKER_UNSUPPORTED_OPERATION: [T, "%s is not supported in workers"],
  ERR_ZLIB_INITIALIZATION_FAILED: [E, "Initialization failed"],
  ERR_ZSTD_INVALID_PARAM: [R, "%s is not a valid zstd parameter"],
};

module.exports = { determineSpecificType, formatList, messages };
