// @ts-check
"use strict";
// structuredClone (https://html.spec.whatwg.org/multipage/structured-data.html#dom-structuredclone) over
// op_structured_clone, which serialises with V8; this checks the arguments and what is to be transferred.
//
// Deviations: of the platform's own objects a DOMException alone is cloned, and only when it is the value itself; deep
// inside a value V8 takes it for an Error, and any other for a plain object. Only ArrayBuffers can be transferred.

const { ArrayBufferPrototypeGetDetached, SafeSet } = require("primordials");
const webidl = require("webidl");
const { DOMException, isDOMException } = require("dom/exception");
const { op_structured_clone } = require("ops");

const convertOptions = webidl.createDictionaryConverter("StructuredSerializeOptions", [
  { key: "transfer", converter: webidl.createSequenceConverter(webidl.converters.object), defaultValue: () => [] },
]);

function structuredClone(value, options = undefined) {
  const prefix = "Failed to execute 'structuredClone'";
  webidl.requiredArguments(arguments.length, 1, prefix);
  const { transfer } = convertOptions(options, prefix, "Argument 2");
  const seen = new SafeSet();
  for (let i = 0; i < transfer.length; i++) {
    const buffer = transfer[i];
    if (!webidl.isArrayBuffer(buffer)) throw cloneError(`${prefix}: a value of this type cannot be transferred`);
    if (seen.has(buffer)) throw cloneError(`${prefix}: an ArrayBuffer is to be transferred twice`);
    if (ArrayBufferPrototypeGetDetached(buffer)) throw cloneError(`${prefix}: an ArrayBuffer is detached already`);
    seen.add(buffer);
  }
  if (isDOMException(value)) return new DOMException(value.message, value.name);
  return op_structured_clone(value, transfer);
}

function cloneError(message) {
  return new DOMException(message, "DataCloneError");
}

module.exports = { structuredClone };
