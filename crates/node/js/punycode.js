"use strict";
// node:punycode (https://nodejs.org/api/punycode.html): RFC 3492, by its own pseudocode.

const BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, INITIAL_BIAS = 72, INITIAL_N = 128, MAX_INT = 2 ** 31 - 1;
const DOTS = /[.\u3002\uff0e\uff61]/g;

const overflow = () => new RangeError("Overflow: input needs wider integers to process");
const invalid = () => new RangeError("Invalid input");

function adapt(delta, count, isFirst) {
  delta = Math.floor(isFirst ? delta / DAMP : delta / 2);
  delta += Math.floor(delta / count);
  let k = 0;
  for (; delta > ((BASE - T_MIN) * T_MAX) >> 1; k += BASE) delta = Math.floor(delta / (BASE - T_MIN));
  return Math.floor(k + ((BASE - T_MIN + 1) * delta) / (delta + SKEW));
}

const threshold = (k, bias) => k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
const digitOf = (code) => code >= 48 && code < 58 ? code - 22 : (code | 32) >= 97 && (code | 32) < 123 ? (code | 32) - 97 : BASE;
const characterOf = (digit) => String.fromCharCode(digit < 26 ? digit + 97 : digit + 22);

function decode(input) {
  const last = Math.max(input.lastIndexOf("-"), 0);
  const output = [];
  for (let j = 0; j < last; j++) {
    if (input.charCodeAt(j) >= 128) throw new RangeError("Illegal input >= 0x80 (not a basic code point)");
    output.push(input.charCodeAt(j));
  }
  let n = INITIAL_N, i = 0, bias = INITIAL_BIAS;
  for (let at = last > 0 ? last + 1 : 0; at < input.length;) {
    const before = i;
    for (let weight = 1, k = BASE; ; k += BASE) {
      if (at >= input.length) throw invalid();
      const digit = digitOf(input.charCodeAt(at++));
      if (digit >= BASE) throw invalid();
      if (digit > Math.floor((MAX_INT - i) / weight)) throw overflow();
      i += digit * weight;
      const t = threshold(k, bias);
      if (digit < t) break;
      if (weight > Math.floor(MAX_INT / (BASE - t))) throw overflow();
      weight *= BASE - t;
    }
    const length = output.length + 1;
    bias = adapt(i - before, length, before === 0);
    if (Math.floor(i / length) > MAX_INT - n) throw overflow();
    n += Math.floor(i / length);
    i %= length;
    output.splice(i++, 0, n);
  }
  return ucs2.encode(output);
}

function encode(input) {
  const points = ucs2.decode(input);
  const basic = points.filter((point) => point < 128);
  let output = String.fromCharCode(...basic);
  let handled = basic.length;
  if (handled > 0) output += "-";
  let n = INITIAL_N, delta = 0, bias = INITIAL_BIAS;
  while (handled < points.length) {
    const next = points.reduce((least, point) => point >= n && point < least ? point : least, MAX_INT);
    if (next - n > Math.floor((MAX_INT - delta) / (handled + 1))) throw overflow();
    delta += (next - n) * (handled + 1);
    n = next;
    for (const point of points) {
      if (point < n && ++delta > MAX_INT) throw overflow();
      if (point !== n) continue;
      let q = delta;
      for (let k = BASE; ; k += BASE) {
        const t = threshold(k, bias);
        if (q < t) break;
        output += characterOf(t + ((q - t) % (BASE - t)));
        q = Math.floor((q - t) / (BASE - t));
      }
      output += characterOf(q);
      bias = adapt(delta, handled + 1, handled === basic.length);
      delta = 0;
      handled++;
    }
    delta++;
    n++;
  }
  return output;
}

/** The labels of a domain, or of what follows the @ of an address. */
function mapLabels(domain, convert) {
  const at = domain.indexOf("@");
  const front = at < 0 ? "" : domain.slice(0, at + 1);
  const rest = at < 0 ? domain : domain.slice(at + 1).split("@")[0];
  return front + rest.replace(DOTS, ".").split(".").map(convert).join(".");
}

function toUnicode(input) {
  return mapLabels(input, (label) => label.startsWith("xn--") ? decode(label.slice(4).toLowerCase()) : label);
}

function toASCII(input) {
  return mapLabels(input, (label) => /[^\0-\x7f]/.test(label) ? `xn--${encode(label)}` : label);
}

const ucs2 = {
  /** Surrogates without a partner stay as they are. */
  decode(text) {
    const points = [];
    for (const character of text) points.push(character.codePointAt(0));
    return points;
  },
  encode: (points) => points.map((point) => String.fromCodePoint(point)).join(""),
};

module.exports = { version: "2.1.0", ucs2, decode, encode, toASCII, toUnicode };
