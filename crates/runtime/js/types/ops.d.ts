// The contract between the JavaScript of this folder and `src/ops/*.rs`: every native function, with its types.
// Natives are reached by `require("ops")` only; application code never sees them.
//
// Ids of bodies, fetches and timers are numbers that are never reused within an isolate. A body id names a native byte
// stream: a request's body, a fetched response's body, or the reading side of a pipe that JavaScript writes to.

type Bytes = Uint8Array;
/** Names and values in turn: [name, value, name, value, ...]; names in lower case. */
type FlatHeaders = string[];

// ---- src/ops/encoding.rs
declare function op_encoding_label(label: string): string | undefined; // canonical name, lower case, of a WHATWG label
declare function op_text_encode(text: string): Bytes; // UTF-8, lone surrogates replaced
declare function op_text_encode_into(text: string, into: Bytes, out: Uint32Array): void; // out = [code units read, bytes written]
/** One-shot decoding, all encodings. Throws TypeError when `fatal` and the bytes are wrong. */
declare function op_text_decode(encoding: string, bytes: ArrayBufferView | ArrayBuffer, fatal: boolean, ignoreBom: boolean): string;
declare function op_text_decoder_new(encoding: string, fatal: boolean, ignoreBom: boolean): number; // streaming decoder
declare function op_text_decoder_decode(decoder: number, bytes: ArrayBufferView | ArrayBuffer, last: boolean): string;
declare function op_text_decoder_free(decoder: number): void;
declare function op_base64_encode(binary: string): string | undefined; // undefined: a code unit above 0xFF
declare function op_base64_decode(text: string): string | undefined; // forgiving; a binary string; undefined: invalid

// ---- src/ops/natives.rs
/** The object holds so much outside of V8's heap, for as long as it is there. */
declare function op_native_made(object: object, kilobytes: number): void;

// ---- src/ops/url.rs
/** Parses; returns the href and fills `out` with ada's url_aggregator offsets, or undefined when it is not a URL.
 *  out = [protocol_end, username_end, host_start, host_end, port, pathname_start, search_start, hash_start];
 *  0xffffffff stands for "omitted". */
declare function op_url_parse(href: string, base: string | undefined, out: Uint32Array): string | undefined;
/** Applies the setter of that name to `href` (itself an href from op_url_parse); undefined: the value was refused, nothing changes. */
declare function op_url_set(href: string, part: "href" | "protocol" | "username" | "password" | "host" | "hostname" | "port" | "pathname" | "search" | "hash", value: string, out: Uint32Array): string | undefined;
declare function op_url_form_parse(text: string): FlatHeaders; // application/x-www-form-urlencoded -> [name, value, ...]
declare function op_url_form_serialize(pairs: FlatHeaders): string;

// ---- src/ops/crypto.rs
declare function op_crypto_random(into: Bytes): void; // at most 65536 bytes: the caller checks
declare function op_crypto_uuid(): string;
declare function op_crypto_digest(algorithm: string, data: Bytes): ArrayBuffer;
/** Keys are named by handles. A handle that no object owns is lost with the turn: op_crypto_key_own gives it to one. */
declare function op_crypto_key_own(key: object, handle: number): void;
declare function op_crypto_key_secret(bytes: Bytes): number;
/** kind: "RSA", a curve of NIST, or "Ed25519", "Ed448", "X25519", "X448". Throws DOMException DataError. */
declare function op_crypto_key_import(kind: string, format: "raw" | "pkcs8" | "spki", data: Bytes): number;
declare function op_crypto_key_import_jwk(kind: string, members: string[]): number; // kind as above, or "oct"; [name, value, ...]
declare function op_crypto_key_export(handle: number, format: "raw" | "pkcs8" | "spki"): ArrayBuffer;
declare function op_crypto_key_export_jwk(handle: number): string[]; // [name, value, ...]
declare function op_crypto_key_public(handle: number): number; // the public half of a private key
declare function op_crypto_key_rsa(handle: number): [number, Bytes]; // bits of the modulus, public exponent
/** Computes; see src/ops/crypto/operation.rs for names and values. A promise where it takes long, else what it comes to:
 *  an ArrayBuffer, a boolean, or [public handle, private handle]. */
declare function op_crypto_run(request: number, name: string, values: any[]): any;
/** The same, however long it takes. */
declare function op_crypto_run_sync(name: string, values: any[]): any;
declare function op_crypto_equal(one: Bytes, other: Bytes): boolean; // in constant time
/** Names and what is known of them: see src/ops/crypto/node_state.rs. */
declare function op_node_crypto_info(what: string, values: any[]): any;
/** A hash, HMAC or cipher that is fed piece by piece, for as long as its owner lives. */
declare function op_node_crypto_state_new(owner: object, kind: string, values: any[]): number;
declare function op_node_crypto_state_update(handle: number, data: Bytes): ArrayBuffer | undefined;
declare function op_node_crypto_state_call(handle: number, method: string, values: any[]): any;
declare function op_node_crypto_key_read(isPrivate: boolean, values: any[]): number;
declare function op_node_crypto_key_jwk(kty: string, crv: string, members: string[]): number;
declare function op_node_crypto_key_write(isPrivate: boolean, values: any[]): ArrayBuffer;
declare function op_node_crypto_key_to_jwk(handle: number): string[];
declare function op_node_crypto_key_describe(handle: number): any[];
declare function op_node_crypto_key_equals(one: number, other: number): boolean;
declare function op_node_crypto_key_share(handle: number): number;
declare function op_node_crypto_certificate(method: string, certificate: Bytes, values: any[]): any;

// ---- src/ops/timers.rs  (`fireTimer(id)` of main.js is called when one is due, in the request's async context)
declare function op_timer_start(request: number, id: number, milliseconds: number, repeat: boolean): void;
declare function op_timer_cancel(id: number): void;
declare function op_now(): number; // milliseconds since the time origin, monotonic
declare function op_time_origin(): number; // milliseconds since the epoch

// ---- src/ops/console.rs
declare function op_console(request: number, level: "debug" | "log" | "info" | "warn" | "error", message: string): void;

// ---- src/ops/bindings.rs
/** `args` is a JSON array; the answer is JSON, or empty for undefined. */
declare function op_binding_call(request: number, binding: string, method: string, args: string): Promise<string>;

// ---- src/ops/clone.rs
/**
 * Serialises and deserialises within this context. `transfer`: array buffers, detached. `find` is asked about objects: the index of
 * the clone in `clones`, or -1 for what V8 is to clone; not about those whose prototype is `plain`. Throws DOMException DataCloneError.
 */
declare function op_structured_clone(
  value: unknown, transfer: ArrayBuffer[], find: (object: object) => number, clones: object[], plain?: object,
): unknown;

// ---- src/ops/compression.rs  (codecs; one is freed by op_codec_free, by a failure, or with the object that owns it)
type CodecError = [message: string, code: string, errno: number];
/**
 * `kind`: deflate, inflate, gzip, gunzip, deflate-raw, inflate-raw, unzip: no numbers, or level, window bits, memory level,
 * strategy, and what may follow a gzip member (0 members, 1 only what begins like one, 2 nothing); brotli, unbrotli: name and
 * value of parameters; zstd, unzstd: the size of the source or -1, then name and value. Throws RangeError when the app's
 * memory limit is reached.
 */
declare function op_codec_new(owner: object, kind: string, numbers: Float64Array, dictionary: Bytes | undefined): number | CodecError;
/** One step, of at most 64 KiB. state: bytes of output left, bytes of input left, flags: 1 there is more to do, 2 the end. */
declare function op_codec_step(codec: number, flush: number, input: Bytes, from: number, fromLength: number, output: Bytes, to: number, toLength: number, state: Uint32Array): CodecError | undefined;
declare function op_codec_reset(codec: number): CodecError | undefined;
declare function op_codec_level(codec: number, level: number): CodecError | undefined;
declare function op_codec_free(codec: number): void;
declare function op_crc32(bytes: Bytes, value: number): number;

// ---- src/ops/html_rewriter.rs  (a rewriter is freed by op_html_rewriter_free, by a failure, or with the object that owns it)
declare function op_html_selector(text: string): void; // throws when it is none
/** handlers = [selector or undefined for the document's, bits: 1 element or doctype, 2 comments, 4 text, 8 end; ...] */
declare function op_html_rewriter_new(owner: object, encoding: string, handlers: any[]): number;
/** A slice of the bytes, or the end. [bytes taken, kind, owner, ...; ...]: js/html_rewriter/source.js reads the rest. */
declare function op_html_rewriter_record(rewriter: number, bytes: Bytes | undefined, offset: number): any[];
/** edits of that slice = [invocation, action, text, value or whether the text is HTML, ...]; returns the output. */
declare function op_html_rewriter_edit(rewriter: number, edits: any[]): Uint8Array | undefined;
declare function op_html_rewriter_free(rewriter: number): void;

// ---- src/ops/body.rs
/** The next chunk, undefined at the end. Never two reads of one body at a time. Rejects with TypeError when the peer failed. */
declare function op_body_read(body: number): Promise<Bytes | undefined>;
/** All that is left. Returned at once, without a promise, when it has all arrived already. */
declare function op_body_bytes(body: number): Bytes | Promise<Bytes>;
/** The same, decoded as UTF-8 without the BOM. */
declare function op_body_text(body: number): string | Promise<string>;
declare function op_body_cancel(body: number): void; // it will not be read any more
declare function op_body_length(body: number): number; // bytes if known from the head, else -1
/** A pipe's reading side; the calls below are its writing side. The request that makes it owns it. */
declare function op_pipe_new(request: number, length?: number): number; // length: of all that will be written; -1: unknown
/** Bytes are copied. 1: there is room for more; 0: full, wait for op_pipe_ready; -1: there is no reader any more. */
declare function op_pipe_write(body: number, chunk: Bytes | string): 1 | 0 | -1;
declare function op_pipe_ready(body: number): Promise<boolean>; // true: room again; false: there is no reader any more
declare function op_pipe_close(body: number): void;
declare function op_pipe_fail(body: number, message: string): void;

// ---- src/ops/json.rs  (see js/fetch/json.js)
/** The whole body: its text, or a promise of it, for JSON.parse; or the tape was written, and these are its strings that are not kept,
 *  `true` if there are none. What is put into `kept` and `makers` replaces elements that must be there. */
declare function op_body_json(body: number, entries: Int32Array, numbers: Float64Array, kept: string[], makers: (() => unknown)[], read: () => unknown): string | Promise<string> | string[] | true;
/** The same for a text, which must be well-formed; undefined: it is for JSON.parse. */
declare function op_json_text(text: string, entries: Int32Array, numbers: Float64Array, kept: string[], makers: (() => unknown)[], read: () => unknown): string[] | true | undefined;

// ---- src/ops/file.rs  (paths count from the app's folder)
type FileRefusal = -1 | -2 | -3 | -4 | -5; // missing, outside the folder, not for reading, no regular file, unreadable
declare function op_file_stat(path: string): [size: number, modified: number] | FileRefusal; // milliseconds since the epoch
/** A body of the request with the bytes from `start` up to `end`, -1 for the file's; read on demand. */
declare function op_file_open(request: number, path: string, start: number, end: number): number | FileRefusal;
/** kind: 0 file, 1 folder, 2 link, 3 other; times in milliseconds. A number: why not, as above. */
declare function op_fs_stat(path: string, keepLink: boolean): [kind: number, size: number, inode: number, modified: number, accessed: number, changed: number] | number;
declare function op_fs_list(path: string): (string | number)[] | number; // name, kind, name, kind...
declare function op_fs_real(path: string): string | number;
declare function op_fs_read(path: string, bytes: Bytes, offset: number, length: number, position: number): number; // at most 1 MiB

// ---- src/ops/fetch.rs
declare const BODY_NONE: 0, BODY_BYTES: 1, BODY_TEXT: 2, BODY_NATIVE: 3; // body kinds; `body` is nothing, Bytes, string, a body id
type FetchHead = [status: number, statusText: string, headers: FlatHeaders, url: string, redirected: boolean, body: number, socket: number];
/** Starts an outgoing request; the returned id is for op_fetch_abort. Throws RangeError past the subrequest limit. */
declare function op_fetch_start(request: number, method: string, url: string, headers: FlatHeaders, bodyKind: 0 | 1 | 2 | 3, body: Bytes | string | number | undefined, redirect: "follow" | "error" | "manual" | "exact"): number; // exact: not followed, not decoded, no headers added
declare function op_fetch_head(fetch: number): Promise<FetchHead>; // rejects with TypeError; body 0: no body; socket 0: no WebSocket
declare function op_fetch_abort(fetch: number): void; // op_fetch_head then never settles, its body fails

// ---- src/ops/websocket.rs  (`deliverSocket(socket, kind, data, reason)` of main.js is called with what comes)
declare function op_websocket_pair(request: number): [number, number]; // both belong to the request
declare function op_websocket_accept(socket: number): void; // from now on there are events; the last ends the socket
declare function op_websocket_send(socket: number, message: string | Bytes): number; // bytes that wait; -1: it is over; -2: too many wait, it was given up
declare function op_websocket_buffered(socket: number): number;
declare function op_websocket_close(socket: number, code: number, reason: string): void; // code 0: none
declare function op_websocket_drop(socket: number): void;
/** Connects; the number is for op_websocket_cancel. Throws RangeError past the subrequest limit; the promise rejects with TypeError. */
declare function op_websocket_connect(request: number, url: string, protocols: string[]): [number, Promise<[socket: number, protocol: string]>];
declare function op_websocket_cancel(op: number): void; // the promise never settles

// ---- src/ops/net.rs  (sockets belong to the worker; `request`: whose limits the result is handled under, if it has not ended)
/** Promises of these are never rejected: what went wrong is [code, message, address], three strings. */
type NetFault = [code: string, message: string, address: string];
type NetConnected = [socket: number, address: string, port: number, ownAddress: string, ownPort: number];
/** Throws RangeError past the subrequest limit and the limit of a worker's sockets. */
declare function op_net_connect(request: number, host: string, port: number): Promise<NetConnected | NetFault>;
declare function op_net_pair(): [number, number]; // two sockets, connected in memory
/** undefined at the end. Never two reads of one socket at a time. */
declare function op_net_read(request: number, socket: number): Promise<Bytes | undefined | NetFault>;
/** Bytes are copied. true: all was written. Never two writes at a time. */
declare function op_net_write(request: number, socket: number, bytes: Bytes): true | Promise<undefined | NetFault>;
declare function op_net_shutdown(request: number, socket: number): Promise<undefined | NetFault>;
declare function op_net_close(socket: number): void; // what waits for it gets a fault
declare function op_net_running(): number; // the request whose turn this is, 0: none

// ---- src/ops/net_tls.rs
type NetSecured = [protocol: string, version: string, cipher: string, chainFault: string, wrongName: boolean, certificates: Bytes[]];
/** flags: 1 a chain that is not trusted is a fault, 2 so is a certificate for another name, 4 only TLS 1.2, 8 only TLS 1.3.
 *  Authorities: none for the built-in ones. identity: [certificate, key] or []. The socket is closed at a fault. */
declare function op_net_secure(request: number, socket: number, serverName: string, flags: number, authorities: Bytes[], identity: Bytes[], protocols: Bytes[]): Promise<NetSecured | NetFault>;

// ---- src/ops/dns.rs
declare function op_dns_lookup(request: number, host: string): Promise<string[] | NetFault>; // a host that is an address is its own address

// ---- src/ops/request.rs  (`request` is the id given to dispatchFetch)
declare function op_request_method(request: number): string;
declare function op_request_url(request: number): string;
declare function op_request_headers(request: number): FlatHeaders;
declare function op_request_body(request: number): number; // a body id, 0: no body
declare const HEADERS_NONE: 0, HEADERS_TEXT: 1, HEADERS_JSON: 2, HEADERS_LIST: 3; // 1: only content-type text/plain;charset=UTF-8; 2: only application/json; 3: `headers`
declare function op_respond(request: number, status: number, statusText: string, headersKind: 0 | 1 | 2 | 3, headers: FlatHeaders | undefined, bodyKind: 0 | 1 | 2 | 3, body: Bytes | string | number | undefined, socket?: number): void;
declare function op_wait_until(request: number, change: 1 | -1): void; // promises given to waitUntil that are pending

// ---- src/ops/buffer.rs (encodings: 0 utf8, 1 utf16le, 2 latin1, 3 ascii, 4 base64, 5 base64url, 6 hex)
declare function op_buffer_to_string(bytes: ArrayBufferView, encoding: number, start: number, end: number): string;
declare function op_buffer_from_string(text: string, encoding: number): ArrayBuffer;
/** How many bytes were written; of UTF-8 and UTF-16 whole characters only. */
declare function op_buffer_write(into: ArrayBufferView, text: string, encoding: number, offset: number, length: number): number;
declare function op_buffer_utf8_length(text: string): number;
declare function op_buffer_compare(left: ArrayBufferView, right: ArrayBufferView): number; // -1, 0, 1
declare function op_buffer_index_of(bytes: ArrayBufferView, wanted: ArrayBufferView, from: number, backwards: boolean, wide: boolean): number;
declare function op_buffer_fill(into: ArrayBufferView, pattern: ArrayBufferView, start: number, end: number): void;
declare function op_buffer_copy(from: ArrayBufferView, into: ArrayBufferView, intoStart: number, fromStart: number, length: number): void;
declare function op_buffer_swap(bytes: ArrayBufferView, unit: 2 | 4 | 8): void;
declare function op_buffer_is_utf8(bytes: ArrayBufferView | ArrayBuffer): boolean;
declare function op_buffer_is_ascii(bytes: ArrayBufferView | ArrayBuffer): boolean;

// ---- src/ops/node_util.rs
declare function op_node_kinds(value: any): number; // a bit for each kind: node/util.js names them
declare function op_node_is(value: any, kind: number): boolean;
declare function op_node_proxy(value: any): [any, any] | undefined; // target, handler
declare function op_node_promise(value: any): [0 | 1 | 2, any] | undefined; // pending, fulfilled, rejected; result
declare function op_node_entries(value: any): [any[], boolean] | undefined; // entries; whether they are keys and values in turn
declare function op_node_keys(object: object, enumerableOnly: boolean): (string | symbol)[]; // own, no indices
declare function op_node_constructor_name(object: any): string | undefined;

// ---- src/ops/node_v8.rs
declare function op_v8_serialize(value: any): ArrayBuffer; // in V8's format, array buffer views as Node writes them
declare function op_v8_deserialize(bytes: ArrayBufferView, bufferPrototype: object): any; // of views that were a Buffer
declare function op_v8_heap(): number[]; // see node/v8.js for their names

// ---- src/ops/vm.rs
declare function op_vm_script(code: string, fileName: string, line: number, column: number, run: boolean): any;
declare function op_vm_function(code: string, fileName: string, line: number, column: number, parameters: string[]): Function;
