// @ts-check
"use strict";
// atob and btoa (https://html.spec.whatwg.org/multipage/webappapis.html#atob). The work is in op_base64_*; this adds the
// conversion of the argument and the exception. No known deviations.

const { converters, requiredArguments } = require("webidl");
const { op_base64_decode, op_base64_encode } = require("ops");

const exceptions = lazy("dom/exception");

function invalid(message) {
  const { DOMException } = exceptions.use();
  return new DOMException(message, "InvalidCharacterError");
}

function atob(data) {
  const prefix = "Failed to execute 'atob'";
  requiredArguments(arguments.length, 1, prefix);
  const binary = op_base64_decode(converters.DOMString(data, prefix, "Argument 1"));
  if (binary === undefined) throw invalid(`${prefix}: The string is not correctly encoded`);
  return binary;
}

function btoa(data) {
  const prefix = "Failed to execute 'btoa'";
  requiredArguments(arguments.length, 1, prefix);
  const text = op_base64_encode(converters.DOMString(data, prefix, "Argument 1"));
  if (text === undefined) {
    throw invalid(`${prefix}: The string has characters outside of the Latin1 range`);
  }
  return text;
}

module.exports = { atob, btoa };
