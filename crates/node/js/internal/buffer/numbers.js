"use strict";
// The methods of Buffer that read and write numbers: readUInt8 to writeDoubleLE
// (https://nodejs.org/api/buffer.html#bufreadint8offset).

const { ERR_BUFFER_OUT_OF_BOUNDS, ERR_INVALID_ARG_TYPE, ERR_OUT_OF_RANGE } = require("internal/errors");
const { validateNumber } = require("internal/validators");

const bytes8 = new Uint8Array(8);
const float32 = new Float32Array(bytes8.buffer, 0, 1);
const float64 = new Float64Array(bytes8.buffer);

/** Throws for an offset (or another number, named by `type`) that is not from 0 (or 1) to `most`. */
function boundsError(value, most, type = undefined) {
  if (Math.floor(value) !== value) {
    validateNumber(value, type ?? "offset");
    throw new ERR_OUT_OF_RANGE(type ?? "offset", "an integer", value);
  }
  if (most < 0) throw new ERR_BUFFER_OUT_OF_BOUNDS();
  throw new ERR_OUT_OF_RANGE(type ?? "offset", `>= ${type ? 1 : 0} and <= ${most}`, value);
}

function checkOffset(buffer, offset, size) {
  if (typeof offset !== "number") throw new ERR_INVALID_ARG_TYPE("offset", "number", offset);
  if (buffer[offset] === undefined || buffer[offset + size - 1] === undefined) boundsError(offset, buffer.length - size);
}

function valueError(value, min, max, size) {
  const n = typeof min === "bigint" ? "n" : "";
  const power = (bits) => `2${n} ** ${bits}${n}`;
  let range = `>= ${min}${n} and <= ${max}${n}`;
  if (size > 4) {
    const bits = size * 8;
    range = min < 0 ? `>= -(${power(bits - 1)}) and < ${power(bits - 1)}` : `>= 0${n} and < ${power(bits)}`;
  }
  throw new ERR_OUT_OF_RANGE("value", range, value);
}

// ---- Whole numbers of 1 to 6 bytes

/** Unsigned, the offset checked already. */
function littleEndian(buffer, offset, size) {
  let value = 0;
  for (let i = size - 1; i >= 0; i--) value = value * 256 + buffer[offset + i];
  return value;
}

function bigEndian(buffer, offset, size) {
  let value = 0;
  for (let i = 0; i < size; i++) value = value * 256 + buffer[offset + i];
  return value;
}

function signed(value, size) {
  const half = 2 ** (size * 8 - 1);
  return value >= half ? value - half * 2 : value;
}

function putLittleEndian(buffer, value, offset, size) {
  for (let i = 0; i < size; i++) {
    buffer[offset + i] = value;
    value = Math.floor(value / 256);
  }
  return offset + size;
}

function putBigEndian(buffer, value, offset, size) {
  for (let i = size - 1; i >= 0; i--) {
    buffer[offset + i] = value;
    value = Math.floor(value / 256);
  }
  return offset + size;
}

function checkValue(buffer, value, min, max, offset, size) {
  value = +value;
  if (size === 1) validateNumber(offset, "offset");
  if (value > max || value < min) valueError(value, min, max, size);
  checkOffset(buffer, offset, size);
  return value;
}

function checkSize(size) {
  if (size !== 1 && size !== 2 && size !== 3 && size !== 4 && size !== 5 && size !== 6) boundsError(size, 6, "byteLength");
}

function checkGiven(offset, size) {
  if (offset === undefined) throw new ERR_INVALID_ARG_TYPE("offset", "number", offset);
  checkSize(size);
}

const unsignedMax = (size) => 2 ** (size * 8) - 1;
const signedMax = (size) => 2 ** (size * 8 - 1) - 1;

const methods = {
  readUInt8(offset = 0) {
    checkOffset(this, offset, 1);
    return this[offset];
  },
  readUInt16LE(offset = 0) {
    checkOffset(this, offset, 2);
    return this[offset] | this[offset + 1] << 8;
  },
  readUInt16BE(offset = 0) {
    checkOffset(this, offset, 2);
    return this[offset] << 8 | this[offset + 1];
  },
  readUInt32LE(offset = 0) {
    checkOffset(this, offset, 4);
    return (this[offset] | this[offset + 1] << 8 | this[offset + 2] << 16) + this[offset + 3] * 0x1000000;
  },
  readUInt32BE(offset = 0) {
    checkOffset(this, offset, 4);
    return this[offset] * 0x1000000 + (this[offset + 1] << 16 | this[offset + 2] << 8 | this[offset + 3]);
  },
  readInt8(offset = 0) {
    checkOffset(this, offset, 1);
    return this[offset] << 24 >> 24;
  },
  readInt16LE(offset = 0) {
    checkOffset(this, offset, 2);
    return (this[offset] | this[offset + 1] << 8) << 16 >> 16;
  },
  readInt16BE(offset = 0) {
    checkOffset(this, offset, 2);
    return (this[offset] << 8 | this[offset + 1]) << 16 >> 16;
  },
  readInt32LE(offset = 0) {
    checkOffset(this, offset, 4);
    return this[offset] | this[offset + 1] << 8 | this[offset + 2] << 16 | this[offset + 3] << 24;
  },
  readInt32BE(offset = 0) {
    checkOffset(this, offset, 4);
    return this[offset] << 24 | this[offset + 1] << 16 | this[offset + 2] << 8 | this[offset + 3];
  },
  readUIntLE(offset, byteLength) {
    checkGiven(offset, byteLength);
    checkOffset(this, offset, byteLength);
    return littleEndian(this, offset, byteLength);
  },
  readUIntBE(offset, byteLength) {
    checkGiven(offset, byteLength);
    checkOffset(this, offset, byteLength);
    return bigEndian(this, offset, byteLength);
  },
  readIntLE(offset, byteLength) {
    checkGiven(offset, byteLength);
    checkOffset(this, offset, byteLength);
    return signed(littleEndian(this, offset, byteLength), byteLength);
  },
  readIntBE(offset, byteLength) {
    checkGiven(offset, byteLength);
    checkOffset(this, offset, byteLength);
    return signed(bigEndian(this, offset, byteLength), byteLength);
  },
  writeUInt8(value, offset = 0) {
    this[offset] = checkValue(this, value, 0, 0xff, offset, 1);
    return offset + 1;
  },
  writeInt8(value, offset = 0) {
    this[offset] = checkValue(this, value, -0x80, 0x7f, offset, 1);
    return offset + 1;
  },
  writeUIntLE(value, offset, byteLength) {
    checkSize(byteLength);
    return putLittleEndian(this, checkValue(this, value, 0, unsignedMax(byteLength), offset, byteLength), offset, byteLength);
  },
  writeUIntBE(value, offset, byteLength) {
    checkSize(byteLength);
    return putBigEndian(this, checkValue(this, value, 0, unsignedMax(byteLength), offset, byteLength), offset, byteLength);
  },
  writeIntLE(value, offset, byteLength) {
    checkSize(byteLength);
    const most = signedMax(byteLength);
    return putLittleEndian(this, checkValue(this, value, -most - 1, most, offset, byteLength), offset, byteLength);
  },
  writeIntBE(value, offset, byteLength) {
    checkSize(byteLength);
    const most = signedMax(byteLength);
    return putBigEndian(this, checkValue(this, value, -most - 1, most, offset, byteLength), offset, byteLength);
  },
};

for (const [bits, size] of [[16, 2], [32, 4]]) {
  const most = unsignedMax(size), mostSigned = signedMax(size);
  Object.assign(methods, {
    [`writeUInt${bits}LE`](value, offset = 0) {
      return putLittleEndian(this, checkValue(this, value, 0, most, offset, size), offset, size);
    },
    [`writeUInt${bits}BE`](value, offset = 0) {
      return putBigEndian(this, checkValue(this, value, 0, most, offset, size), offset, size);
    },
    [`writeInt${bits}LE`](value, offset = 0) {
      return putLittleEndian(this, checkValue(this, value, -mostSigned - 1, mostSigned, offset, size), offset, size);
    },
    [`writeInt${bits}BE`](value, offset = 0) {
      return putBigEndian(this, checkValue(this, value, -mostSigned - 1, mostSigned, offset, size), offset, size);
    },
  });
}

// ---- Whole numbers of 8 bytes

function checkBig(buffer, value, min, max, offset) {
  if (typeof value !== "bigint") throw new TypeError("Cannot mix BigInt and other types, use explicit conversions");
  if (value > max || value < min) valueError(value, min, max, 8);
  checkOffset(buffer, offset, 8);
  return BigInt.asUintN(64, value);
}

const UNSIGNED_64 = 2n ** 64n - 1n, SIGNED_64 = 2n ** 63n - 1n;

function bigLittleEndian(buffer, offset) {
  checkOffset(buffer, offset, 8);
  return BigInt(littleEndian(buffer, offset, 4)) + (BigInt(littleEndian(buffer, offset + 4, 4)) << 32n);
}

function bigBigEndian(buffer, offset) {
  checkOffset(buffer, offset, 8);
  return (BigInt(bigEndian(buffer, offset, 4)) << 32n) + BigInt(bigEndian(buffer, offset + 4, 4));
}

function putBigLittleEndian(buffer, value, offset) {
  putLittleEndian(buffer, Number(value & 0xffffffffn), offset, 4);
  return putLittleEndian(buffer, Number(value >> 32n), offset + 4, 4);
}

function putBigBigEndian(buffer, value, offset) {
  putBigEndian(buffer, Number(value >> 32n), offset, 4);
  return putBigEndian(buffer, Number(value & 0xffffffffn), offset + 4, 4);
}

Object.assign(methods, {
  readBigUInt64LE(offset = 0) { return bigLittleEndian(this, offset); },
  readBigUInt64BE(offset = 0) { return bigBigEndian(this, offset); },
  readBigInt64LE(offset = 0) { return BigInt.asIntN(64, bigLittleEndian(this, offset)); },
  readBigInt64BE(offset = 0) { return BigInt.asIntN(64, bigBigEndian(this, offset)); },
  writeBigUInt64LE(value, offset = 0) {
    return putBigLittleEndian(this, checkBig(this, value, 0n, UNSIGNED_64, offset), offset);
  },
  writeBigUInt64BE(value, offset = 0) {
    return putBigBigEndian(this, checkBig(this, value, 0n, UNSIGNED_64, offset), offset);
  },
  writeBigInt64LE(value, offset = 0) {
    return putBigLittleEndian(this, checkBig(this, value, -SIGNED_64 - 1n, SIGNED_64, offset), offset);
  },
  writeBigInt64BE(value, offset = 0) {
    return putBigBigEndian(this, checkBig(this, value, -SIGNED_64 - 1n, SIGNED_64, offset), offset);
  },
});

// ---- Floats: their bytes are copied by way of the little-endian arrays above

function readFloat(buffer, offset, view, size, little) {
  checkOffset(buffer, offset, size);
  for (let i = 0; i < size; i++) bytes8[i] = buffer[little ? offset + i : offset + size - 1 - i];
  return view[0];
}

function writeFloat(buffer, value, offset, view, size, little) {
  value = +value;
  checkOffset(buffer, offset, size);
  view[0] = value;
  for (let i = 0; i < size; i++) buffer[little ? offset + i : offset + size - 1 - i] = bytes8[i];
  return offset + size;
}

Object.assign(methods, {
  readFloatLE(offset = 0) { return readFloat(this, offset, float32, 4, true); },
  readFloatBE(offset = 0) { return readFloat(this, offset, float32, 4, false); },
  readDoubleLE(offset = 0) { return readFloat(this, offset, float64, 8, true); },
  readDoubleBE(offset = 0) { return readFloat(this, offset, float64, 8, false); },
  writeFloatLE(value, offset = 0) { return writeFloat(this, value, offset, float32, 4, true); },
  writeFloatBE(value, offset = 0) { return writeFloat(this, value, offset, float32, 4, false); },
  writeDoubleLE(value, offset = 0) { return writeFloat(this, value, offset, float64, 8, true); },
  writeDoubleBE(value, offset = 0) { return writeFloat(this, value, offset, float64, 8, false); },
});

// readUint8 is readUInt8, and so on.
for (const name of Object.keys(methods)) {
  if (name.includes("UInt")) methods[name.replace("UInt", "Uint")] = methods[name];
}

module.exports = { methods };
