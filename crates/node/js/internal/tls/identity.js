"use strict";
// For which hosts a certificate is, by RFC 6125 as Node has it, and lists of protocols.

const { Buffer } = require("buffer");
const { codes: { ERR_OUT_OF_RANGE, ERR_TLS_CERT_ALTNAME_FORMAT, ERR_TLS_CERT_ALTNAME_INVALID } } = require("internal/errors");
const { isIP } = require("internal/net/address");

/** Labels in lower case, without the final dot. */
function labelsOf(name) {
  const text = name.endsWith(".") ? name.slice(0, -1) : name;
  return text.toLowerCase().split(".");
}

/** One `*` in the first label stands for a part of that label, where two labels or more follow. */
function matches(host, pattern) {
  if (!pattern) return false;
  const names = labelsOf(pattern);
  if (host.length !== names.length || names.includes("")) return false;
  // eslint-disable-next-line no-control-regex
  if (!names.every((label) => /^[\x21-\x7f]*$/.test(label))) return false;
  for (let i = names.length - 1; i > 0; i--) if (host[i] !== names[i]) return false;
  const first = names[0];
  const parts = first.split("*");
  if (parts.length === 1 || first.includes("xn--")) return host[0] === first;
  if (parts.length > 2 || names.length <= 2) return false;
  const [before, after] = parts;
  return host[0].length >= before.length + after.length && host[0].startsWith(before) && host[0].endsWith(after);
}

/** "DNS:a, IP Address:1.2.3.4"; names with special characters are JSON strings. */
function splitNames(text) {
  const names = [];
  let rest = text;
  while (rest !== "") {
    const match = /^([^",]*)("(?:[^"\\]|\\.)*")?([^,]*)(?:, |$)/.exec(rest);
    if (match === null || match[0] === "") throw new ERR_TLS_CERT_ALTNAME_FORMAT();
    names.push(match[1] + (match[2] === undefined ? "" : JSON.parse(match[2])) + match[3]);
    rest = rest.slice(match[0].length);
  }
  return names;
}

/** An error where the certificate is not for the host. */
function checkServerIdentity(hostname, cert) {
  const { subject, subjectaltname } = cert;
  const dns = [];
  const ips = [];
  hostname = `${hostname}`;
  if (subjectaltname) {
    for (const name of splitNames(subjectaltname)) {
      if (name.startsWith("DNS:")) dns.push(name.slice(4));
      else if (name.startsWith("IP Address:")) ips.push(name.slice(11).toLowerCase());
    }
  }
  let reason;
  const host = hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
  if (isIP(host)) {
    if (ips.some((ip) => ip === host.toLowerCase())) return undefined;
    reason = `IP: ${host} is not in the cert's list: ${ips.join(", ")}`;
  } else if (dns.length > 0 || subject?.CN) {
    const labels = labelsOf(host);
    const names = dns.length > 0 ? dns : [subject.CN].flat();
    if (names.some((name) => matches(labels, name))) return undefined;
    reason = dns.length > 0 ? `Host: ${host}. is not in the cert's altnames: ${subjectaltname}` : `Host: ${host}. is not cert's CN: ${subject.CN}`;
  } else {
    reason = "Cert does not contain a DNS name";
  }
  return new ERR_TLS_CERT_ALTNAME_INVALID(reason, hostname, cert);
}

/** The protocols with their lengths in front, in `out.ALPNProtocols`. */
function convertALPNProtocols(protocols, out) {
  if (Array.isArray(protocols)) {
    const parts = protocols.map((protocol, at) => {
      const bytes = Buffer.from(protocol);
      if (bytes.length > 255) {
        throw new ERR_OUT_OF_RANGE(`The byte length of the protocol at index ${at} exceeds the maximum length.`, "<= 255", bytes.length, true);
      }
      return Buffer.concat([Buffer.from([bytes.length]), bytes]);
    });
    out.ALPNProtocols = Buffer.concat(parts);
  } else if (ArrayBuffer.isView(protocols)) {
    out.ALPNProtocols = Buffer.from(new Uint8Array(protocols.buffer, protocols.byteOffset, protocols.byteLength));
  }
}

/** A list of bytes from what an app gives. */
function protocolList(protocols) {
  if (protocols === undefined || protocols === null) return [];
  const out = {};
  convertALPNProtocols(protocols, out);
  const list = [];
  const bytes = out.ALPNProtocols ?? Buffer.alloc(0);
  for (let at = 0; at < bytes.length; at += bytes[at] + 1) list.push(bytes.subarray(at + 1, at + 1 + bytes[at]));
  return list;
}

module.exports = { checkServerIdentity, convertALPNProtocols, protocolList };
