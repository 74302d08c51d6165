"use strict";
// X509Certificate (https://nodejs.org/api/crypto.html#class-x509certificate). Deviations: `issuerCertificate` is undefined, since
// no certificate comes from a connection; names with other types than text are "othername:<unsupported>".

const { Buffer, codes, crypto, give, isBytes, toBytes } = require("internal/crypto/util");
const { isKeyObject, make, slotsOf } = require("internal/crypto/keys");
const { validateObject, validateString } = require("internal/validators");

const { ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE } = codes;

/** What the natives say of a certificate, by object. */
const parts = new WeakMap();

function partsOf(certificate) {
  const found = parts.get(certificate);
  if (found === undefined) throw new codes.ERR_INVALID_THIS("X509Certificate");
  return found;
}

const pairs = (list) => Array.from({ length: list.length / 2 }, (_, i) => [list[2 * i], list[2 * i + 1]]);
const lines = (list) => pairs(list).map(([kind, value]) => `${kind}=${value.replace(/[\\,+"<>;\n]/g, (c) => (c === "\n" ? "\\0A" : `\\${c}`))}`).join("\n");

/** As Node quotes what would be ambiguous. */
const quoted = (text) => (/[^\x20\x21\x23-\x26\x28-\x2b\x2d-\x5b\x5d-\x7e]/.test(text) ? JSON.stringify(text) : text);

class X509Certificate {
  constructor(buffer) {
    if (typeof buffer !== "string" && !isBytes(buffer)) throw new ERR_INVALID_ARG_TYPE("buffer", ["string", "Buffer", "TypedArray", "DataView"], buffer);
    const read = crypto.certificate("read", toBytes(buffer, "buffer"));
    const [der, subject, issuer, names, info, usages, serial, from, to, ca, algorithm, oid] = read;
    parts.set(this, { der: new Uint8Array(der), subject, issuer, names: pairs(names), info: pairs(info), usages, serial, from, to, ca, algorithm, oid });
  }

  get subject() { return lines(partsOf(this).subject) || undefined; }
  get issuer() { return lines(partsOf(this).issuer) || undefined; }
  get subjectAltName() {
    const { names } = partsOf(this);
    return names.length === 0 ? undefined : names.map(([kind, value]) => `${kind}:${quoted(value)}`).join(", ");
  }
  get infoAccess() {
    const { info } = partsOf(this);
    return info.length === 0 ? undefined : info.map(([kind, value]) => `${kind}:${quoted(value)}\n`).join("");
  }
  get keyUsage() {
    const { usages } = partsOf(this);
    return usages.length === 0 ? undefined : [...usages];
  }
  get serialNumber() { return partsOf(this).serial; }
  get validFrom() { return partsOf(this).from; }
  get validTo() { return partsOf(this).to; }
  get validFromDate() { return new Date(this.validFrom); }
  get validToDate() { return new Date(this.validTo); }
  get ca() { return partsOf(this).ca; }
  get signatureAlgorithm() { return partsOf(this).algorithm; }
  get signatureAlgorithmOid() { return partsOf(this).oid; }
  get issuerCertificate() {
    partsOf(this);
    return undefined;
  }
  get raw() { return give(partsOf(this).der); }
  get fingerprint() { return fingerprint(partsOf(this), "sha1"); }
  get fingerprint256() { return fingerprint(partsOf(this), "sha256"); }
  get fingerprint512() { return fingerprint(partsOf(this), "sha512"); }

  get publicKey() {
    const found = partsOf(this);
    return (found.key ??= make("public", crypto.certificate("public-key", found.der)));
  }

  toString() { return give(crypto.certificate("pem", partsOf(this).der), "utf8"); }
  toJSON() { return this.toString(); }

  checkHost(name, options = undefined) {
    validateString(name, "name");
    if (name.includes("\0")) throw new ERR_INVALID_ARG_VALUE("name", name);
    const found = partsOf(this);
    const rules = hostRules(options);
    const hosts = found.names.filter(([kind]) => kind === "DNS").map(([, value]) => value);
    const useSubject = rules.subject === "always" || (rules.subject === "default" && hosts.length === 0);
    if (useSubject) for (const [kind, value] of pairs(found.subject)) if (kind === "CN") hosts.push(value);
    return hosts.find((pattern) => matchesHost(pattern, name, rules));
  }

  checkEmail(email, options = undefined) {
    validateString(email, "email");
    const found = partsOf(this);
    const { subject } = hostRules(options);
    const emails = found.names.filter(([kind]) => kind === "email").map(([, value]) => value);
    if (subject === "always" || (subject === "default" && emails.length === 0)) {
      for (const [kind, value] of pairs(found.subject)) if (kind === "emailAddress") emails.push(value);
    }
    return emails.some((known) => sameEmail(known, email)) ? email : undefined;
  }

  checkIP(ip) {
    validateString(ip, "ip");
    const wanted = canonicalAddress(ip);
    if (wanted === undefined) return undefined;
    const addresses = partsOf(this).names.filter(([kind]) => kind === "IP Address");
    return addresses.some(([, value]) => canonicalAddress(value) === wanted) ? ip : undefined;
  }

  checkIssued(other) {
    if (!(typeof other === "object" && other !== null && parts.has(other))) {
      throw new ERR_INVALID_ARG_TYPE("otherCert", "X509Certificate", other);
    }
    return crypto.certificate("issued-by", partsOf(this).der, partsOf(other).der);
  }

  checkPrivateKey(key) {
    if (!isKeyObject(key)) throw new ERR_INVALID_ARG_TYPE("pkey", "KeyObject", key);
    if (key.type !== "private") throw new ERR_INVALID_ARG_VALUE("pkey", key);
    return crypto.certificate("belongs-to", partsOf(this).der, slotsOf(key).handle);
  }

  verify(key) {
    if (!isKeyObject(key)) throw new ERR_INVALID_ARG_TYPE("pkey", "KeyObject", key);
    if (key.type !== "public") throw new ERR_INVALID_ARG_VALUE("pkey", key);
    return crypto.certificate("signed-by", partsOf(this).der, slotsOf(key).handle);
  }

  toLegacyObject() {
    const found = partsOf(this);
    const legacy = {
      subject: names(found.subject), issuer: names(found.issuer), subjectaltname: this.subjectAltName,
      infoAccess: found.info.length === 0 ? undefined : grouped(found.info), ca: found.ca,
    };
    const { asymmetricKeyType: kind, asymmetricKeyDetails: details } = this.publicKey;
    if (kind === "rsa") {
      const jwk = this.publicKey.export({ format: "jwk" });
      legacy.modulus = Buffer.from(jwk.n, "base64url").toString("hex").toUpperCase();
      legacy.bits = details.modulusLength;
      legacy.exponent = `0x${details.publicExponent.toString(16)}`;
      legacy.pubkey = this.publicKey.export({ format: "der", type: "pkcs1" });
    } else if (kind === "ec") {
      const jwk = details.namedCurve === undefined ? undefined : NIST[details.namedCurve];
      legacy.asn1Curve = details.namedCurve;
      legacy.nistCurve = jwk;
    }
    legacy.valid_from = found.from;
    legacy.valid_to = found.to;
    legacy.fingerprint = this.fingerprint;
    legacy.fingerprint256 = this.fingerprint256;
    legacy.fingerprint512 = this.fingerprint512;
    if (found.usages.length > 0) legacy.ext_key_usage = [...found.usages];
    legacy.serialNumber = found.serial;
    legacy.raw = this.raw;
    return legacy;
  }
}

const NIST = { __proto__: null, prime256v1: "P-256", secp384r1: "P-384", secp521r1: "P-521" };

function names(list) {
  const object = { __proto__: null };
  for (const [kind, value] of pairs(list)) {
    if (!(kind in object)) object[kind] = value;
    else if (Array.isArray(object[kind])) object[kind].push(value);
    else object[kind] = [object[kind], value];
  }
  return object;
}

function grouped(list) {
  const object = { __proto__: null };
  for (const [kind, value] of list) (object[kind] ??= []).push(value);
  return object;
}

function fingerprint({ der }, digest) {
  return give(crypto.runSync("hash", [], [digest, der, undefined]), "hex").toUpperCase().match(/../g).join(":");
}

function hostRules(options) {
  if (options !== undefined) validateObject(options, "options");
  const { subject = "default", wildcards = true, partialWildcards = true, multiLabelWildcards = false, singleLabelSubdomains = false } = options ?? {};
  validateString(subject, "options.subject");
  if (!["default", "always", "never"].includes(subject)) throw new ERR_INVALID_ARG_VALUE("options.subject", subject);
  for (const [name, value] of Object.entries({ wildcards, partialWildcards, multiLabelWildcards, singleLabelSubdomains })) {
    if (typeof value !== "boolean") throw new ERR_INVALID_ARG_TYPE(`options.${name}`, "boolean", value);
  }
  return { subject, wildcards, partialWildcards, multiLabelWildcards, singleLabelSubdomains };
}

/** RFC 6125: a wildcard stands in the first label, of names of at least three. */
function matchesHost(pattern, host, rules) {
  const [one, other] = [pattern.toLowerCase(), host.toLowerCase()];
  if (other.startsWith(".")) {
    if (!one.endsWith(other)) return false;
    return rules.singleLabelSubdomains ? !one.slice(0, -other.length).includes(".") : one.length > other.length;
  }
  if (one === other) return true;
  if (!rules.wildcards || !one.includes("*")) return false;
  const [first, ...rest] = one.split(".");
  const [firstOther, ...restOther] = other.split(".");
  if (rest.length < 2 || first.split("*").length !== 2 || first.startsWith("xn--")) return false;
  if (first !== "*" && (!rules.partialWildcards || firstOther.startsWith("xn--"))) return false;
  const multi = first === "*" && rules.multiLabelWildcards;
  if (multi ? !other.endsWith(`.${rest.join(".")}`) : rest.join(".") !== restOther.join(".")) return false;
  const [before, after] = first.split("*");
  return multi || (firstOther.length >= first.length && firstOther.startsWith(before) && firstOther.endsWith(after));
}

/** The host's case does not matter. */
function sameEmail(one, other) {
  const [at, atOther] = [one.lastIndexOf("@"), other.lastIndexOf("@")];
  return one.slice(0, at) === other.slice(0, atOther) && one.slice(at).toLowerCase() === other.slice(atOther).toLowerCase();
}

function canonicalAddress(text) {
  const v4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (v4 !== null) return v4.slice(1).every((part) => Number(part) < 256) ? v4.slice(1).map(Number).join(".") : undefined;
  if (!text.includes(":") || !/^[0-9a-fA-F:.]+$/.test(text)) return undefined;
  try {
    return new URL(`http://[${text}]/`).hostname;
  } catch {
    return undefined;
  }
}

const isX509Certificate = (value) => typeof value === "object" && value !== null && parts.has(value);

module.exports = { X509Certificate, isX509Certificate };
