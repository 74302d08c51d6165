// @ts-check
"use strict";
// structuredClone (https://html.spec.whatwg.org/multipage/structured-data.html#dom-structuredclone) over op_structured_clone, which
// serialises with V8; this checks what is to be transferred, and clones the platform's own objects: Blob and File. Transferred
// can be ArrayBuffers, MessagePorts, ReadableStreams and WritableStreams; what goes through such a stream is cloned.
//
// Deviations: a DOMException is cloned as one only when it is the value itself; deep inside a value V8 takes it for an Error.
// CryptoKeys, files of the app's folder and TransformStreams are refused.

const { ArrayBufferPrototypeGetDetached, ArrayPrototypePush, ObjectGetPrototypeOf, ObjectPrototype, SafeMap } = require("primordials");
const webidl = require("webidl");
const { DOMException, isDOMException } = require("dom/exception");
const { platformClassOf } = require("platform_classes");
const { op_structured_clone } = require("ops");

const blobs = lazy("file/blob");
const ports = lazy("dom/message_port");
const transfers = lazy("streams/transfer");
const readables = lazy("streams/readable");
const writables = lazy("streams/writable");

const convertOptions = webidl.createDictionaryConverter("StructuredSerializeOptions", [
  { key: "transfer", converter: webidl.createSequenceConverter(webidl.converters.object), defaultValue: () => [] },
]);

// An object of a class whose file has not run cannot exist.
const isBlob = (value) => blobs.exports !== undefined && blobs.exports.isBlob(value);
const isPort = (value) => ports.exports !== undefined && ports.exports.isPort(value);
const isReadable = (value) => readables.exports !== undefined && readables.exports.isReadableStream(value);
const isWritable = (value) => writables.exports !== undefined && writables.exports.isWritableStream(value);

/** Whether a class of the platform made it, as far as its prototypes tell. */
function isPlatformObject(object) {
  for (let proto = ObjectGetPrototypeOf(object); proto !== null; proto = ObjectGetPrototypeOf(proto)) {
    if (platformClassOf(proto) !== undefined) return true;
  }
  return false;
}

/** [what takes its place, a function that moves the state there]; undefined where it cannot be transferred. */
function startTransfer(value, prefix) {
  if (isPort(value)) return ports.use().startTransfer(value, prefix);
  if (isReadable(value)) return transfers.use().transferReadable(value, prefix);
  if (isWritable(value)) return transfers.use().transferWritable(value, prefix);
  return undefined;
}

class Transfer {
  buffers = [];
  /** What takes the place of the others, in their order. */
  received = [];
  moves = [];
  /** Each to its index in `received`; buffers to -1. */
  places = new SafeMap();

  constructor(list, prefix) {
    for (let i = 0; i < list.length; i++) {
      const value = list[i];
      if (this.places.has(value)) throw cloneError(`${prefix}: a value is to be transferred twice`);
      if (webidl.isArrayBuffer(value)) {
        if (ArrayBufferPrototypeGetDetached(value)) throw cloneError(`${prefix}: an ArrayBuffer is detached already`);
        ArrayPrototypePush(this.buffers, value);
        this.places.set(value, -1);
        continue;
      }
      const started = startTransfer(value, prefix);
      if (started === undefined) throw cloneError(`${prefix}: a value of this type cannot be transferred`);
      this.places.set(value, this.received.length);
      ArrayPrototypePush(this.received, started[0]);
      ArrayPrototypePush(this.moves, started[1]);
    }
  }
}

/** For postMessage too: the clone, and the ports that came with it. */
function cloneWithTransfer(value, list, prefix) {
  const transfer = new Transfer(list, prefix);
  const { received, moves, places } = transfer;
  const clones = [];
  for (let i = 0; i < received.length; i++) ArrayPrototypePush(clones, received[i]);
  const find = (object) => {
    const place = places.get(object);
    if (place !== undefined) return place;
    const clone = isBlob(object) ? blobs.use().cloneBlob(object) : undefined;
    if (clone !== undefined) return ArrayPrototypePush(clones, clone) - 1;
    if (isPlatformObject(object)) throw cloneError(`${prefix}: an object of this class cannot be cloned`);
    return -1;
  };
  const clone = isDOMException(value)
    ? new DOMException(value.message, value.name)
    : op_structured_clone(value, transfer.buffers, find, clones, received.length === 0 ? ObjectPrototype : undefined);
  for (let i = 0; i < moves.length; i++) moves[i]();
  const newPorts = [];
  for (let i = 0; i < received.length; i++) if (isPort(received[i])) ArrayPrototypePush(newPorts, received[i]);
  return { __proto__: null, clone, ports: newPorts };
}

function structuredClone(value, options = undefined) {
  const prefix = "Failed to execute 'structuredClone'";
  webidl.requiredArguments(arguments.length, 1, prefix);
  const { transfer } = convertOptions(options, prefix, "Argument 2");
  return cloneWithTransfer(value, transfer, prefix).clone;
}

function cloneError(message) {
  return new DOMException(message, "DataCloneError");
}

module.exports = { structuredClone, cloneWithTransfer, convertOptions };
