"use strict";
// Errors and checks of arguments that `events` needs (https://nodejs.org/api/errors.html).

const { inspect } = binding("events");

function makeCode(Base, code, format) {
  const { [Base.name]: Class } = {
    [Base.name]: class extends Base {
      constructor(...values) {
        super(format(...values));
        this.code = code;
      }
      toString() { return `${this.name} [${code}]: ${this.message}`; }
    },
  };
  return Class;
}

function received(value) {
  if (value === null || value === undefined) return ` Received ${value}`;
  if (typeof value === "function") return ` Received function ${value.name}`;
  if (typeof value === "object") {
    const name = value.constructor?.name;
    return name ? ` Received an instance of ${name}` : ` Received ${inspect(value)}`;
  }
  let shown = inspect(value);
  if (shown.length > 28) shown = `${shown.slice(0, 25)}...`;
  return ` Received type ${typeof value} (${shown})`;
}

const codes = {
  ERR_INVALID_ARG_TYPE: makeCode(TypeError, "ERR_INVALID_ARG_TYPE", (name, expected, value) => {
    const types = [expected].flat();
    const isClass = (type) => /^[A-Z]/.test(type) && type !== "Function" && type !== "Object";
    const kinds = types.filter((type) => !isClass(type)).map((type) => type.toLowerCase());
    const classes = types.filter(isClass);
    const parts = [];
    if (kinds.length > 0) parts.push(`${kinds.length > 1 ? "one of " : "of "}type ${kinds.join(" or ")}`);
    if (classes.length > 0) parts.push(`an instance of ${classes.join(" or ")}`);
    const what = name.endsWith(" argument") ? name : `"${name}" ${name.includes(".") ? "property" : "argument"}`;
    return `The ${what} must be ${parts.join(" or ")}.${received(value)}`;
  }),
  ERR_INVALID_THIS: makeCode(TypeError, "ERR_INVALID_THIS", (type) => `Value of "this" must be of type ${type}`),
  ERR_OUT_OF_RANGE: makeCode(RangeError, "ERR_OUT_OF_RANGE", (name, range, value) =>
    `The value of "${name}" is out of range. It must be ${range}. Received ${inspect(value)}`),
  ERR_UNHANDLED_ERROR: makeCode(Error, "ERR_UNHANDLED_ERROR", (shown) =>
    shown === undefined ? "Unhandled error." : `Unhandled error. (${shown})`),
};

class AbortError extends Error {
  constructor(message = "The operation was aborted", options = undefined) {
    super(message, options);
    this.code = "ABORT_ERR";
    this.name = "AbortError";
  }
}

function validateFunction(value, name) {
  if (typeof value !== "function") throw new codes.ERR_INVALID_ARG_TYPE(name, "Function", value);
}

function validateBoolean(value, name) {
  if (typeof value !== "boolean") throw new codes.ERR_INVALID_ARG_TYPE(name, "boolean", value);
}

function validateString(value, name) {
  if (typeof value !== "string") throw new codes.ERR_INVALID_ARG_TYPE(name, "string", value);
}

function validateObject(value, name) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new codes.ERR_INVALID_ARG_TYPE(name, "Object", value);
  }
}

function validateNumber(value, name, min = undefined, max = undefined) {
  if (typeof value !== "number") throw new codes.ERR_INVALID_ARG_TYPE(name, "number", value);
  if ((min !== undefined && value < min) || (max !== undefined && value > max) || Number.isNaN(value)) {
    const lower = min !== undefined ? `>= ${min}` : "";
    const upper = max !== undefined ? `<= ${max}` : "";
    throw new codes.ERR_OUT_OF_RANGE(name, `${lower}${lower && upper ? " && " : ""}${upper}`, value);
  }
}

function validateInteger(value, name, min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) {
  if (typeof value !== "number") throw new codes.ERR_INVALID_ARG_TYPE(name, "number", value);
  if (!Number.isInteger(value)) throw new codes.ERR_OUT_OF_RANGE(name, "an integer", value);
  if (value < min || value > max) throw new codes.ERR_OUT_OF_RANGE(name, `>= ${min} && <= ${max}`, value);
}

function validateAbortSignal(signal, name) {
  if (signal !== undefined && (signal === null || typeof signal !== "object" || !("aborted" in signal))) {
    throw new codes.ERR_INVALID_ARG_TYPE(name, "AbortSignal", signal);
  }
}

module.exports = {
  AbortError, codes, inspect,
  validateAbortSignal, validateBoolean, validateFunction, validateInteger, validateNumber, validateObject, validateString,
};
