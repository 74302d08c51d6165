"use strict";
// Certificate: SPKAC, signed public keys with a challenge (https://nodejs.org/api/crypto.html#class-certificate). They are base64
// of SEQUENCE { SEQUENCE { public key, challenge }, algorithm, signature }. Signatures of RSA and ECDSA are verified.

const { Buffer, crypto, give, toBytes } = require("internal/crypto/util");

/** The first element: its whole, its content, and what follows; undefined where there is none. */
function element(bytes) {
  let length = bytes[1];
  let head = 2;
  if (bytes.length < 2) return undefined;
  if (length >= 0x80) {
    const digits = length & 0x7f;
    if (digits === 0 || digits > 4 || bytes.length < 2 + digits) return undefined;
    length = 0;
    for (let i = 0; i < digits; i++) length = length * 256 + bytes[2 + i];
    head += digits;
  }
  if (bytes.length < head + length) return undefined;
  return { whole: bytes.subarray(0, head + length), content: bytes.subarray(head, head + length), rest: bytes.subarray(head + length) };
}

/** Signature algorithms by the hexadecimal of their identifiers. */
const DIGESTS = {
  __proto__: null,
  "2a864886f70d010104": "md5", "2a864886f70d010105": "sha1", "2a864886f70d01010b": "sha256", "2a864886f70d01010c": "sha384",
  "2a864886f70d01010d": "sha512", "2a8648ce3d040302": "sha256", "2a8648ce3d040303": "sha384", "2a8648ce3d040304": "sha512",
};

function parse(spkac, encoding) {
  const text = Buffer.from(toBytes(spkac, "spkac", encoding)).toString("latin1").trim();
  const outer = element(Buffer.from(text, "base64"));
  const signed = outer && element(outer.content);
  const key = signed && element(signed.content);
  const challenge = key && element(key.rest);
  const algorithm = signed && element(signed.rest);
  const oid = algorithm && element(algorithm.content);
  const signature = algorithm && element(algorithm.rest);
  if (challenge === undefined || signature === undefined || oid === undefined) return undefined;
  const digest = DIGESTS[Buffer.from(oid.content).toString("hex")];
  return { signed: signed.whole, key: key.whole, challenge: challenge.content, digest, signature: signature.content.subarray(1) };
}

function verifySpkac(spkac, encoding) {
  const parsed = parse(spkac, encoding);
  if (parsed === undefined || parsed.digest === undefined) return false;
  try {
    const key = crypto.readKey(false, parsed.key, false, "spki", undefined);
    return crypto.runSync("verify", [key], [parsed.digest, undefined, undefined, false, undefined, parsed.signed, false, parsed.signature]);
  } catch {
    return false;
  }
}

function exportPublicKey(spkac, encoding) {
  const parsed = parse(spkac, encoding);
  if (parsed === undefined) return "";
  try {
    return give(crypto.writeKey(false, crypto.readKey(false, parsed.key, false, "spki", undefined), true, "spki"));
  } catch {
    return "";
  }
}

function exportChallenge(spkac, encoding) {
  const parsed = parse(spkac, encoding);
  return parsed === undefined ? "" : Buffer.from(parsed.challenge);
}

function Certificate() {
  if (!new.target) return new Certificate();
}
for (const target of [Certificate, Certificate.prototype]) {
  target.verifySpkac = verifySpkac;
  target.exportPublicKey = exportPublicKey;
  target.exportChallenge = exportChallenge;
}

module.exports = { Certificate };
