"use strict";
// Resolver and the resolve functions. Addresses come from the system's resolver; other records would need a resolver of our own.

const { lookupAll } = require("internal/dns/lookup");
const { validateString } = require("internal/validators");
const { codes: { ERR_INVALID_ARG_VALUE } } = require("internal/errors");

const KINDS = ["A", "AAAA", "ANY", "CAA", "CNAME", "MX", "NAPTR", "NS", "PTR", "SOA", "SRV", "TLSA", "TXT"];

function notHere(what) {
  return new Error(`node:dns: ${what} is not supported in Hearth, which has addresses alone (lookup, resolve4, resolve6): ask a DNS server over HTTPS with fetch`);
}

async function resolveAddresses(hostname, family, options) {
  const syscall = family === 4 ? "queryA" : "queryAaaa";
  const found = await lookupAll(hostname, { family, order: "verbatim" }, syscall);
  // The system does not say how long they hold.
  return found.map(({ address }) => (options?.ttl ? { address, ttl: 0 } : address));
}

/** Each returns a promise. */
const methods = {
  resolve(hostname, kind = "A") {
    validateString(hostname, "name");
    validateString(kind, "rrtype");
    if (!KINDS.includes(kind)) throw new ERR_INVALID_ARG_VALUE("rrtype", kind);
    if (kind === "A") return resolveAddresses(hostname, 4);
    if (kind === "AAAA") return resolveAddresses(hostname, 6);
    throw notHere(`resolve of ${kind} records`);
  },
  resolve4(hostname, options) {
    validateString(hostname, "name");
    return resolveAddresses(hostname, 4, options);
  },
  resolve6(hostname, options) {
    validateString(hostname, "name");
    return resolveAddresses(hostname, 6, options);
  },
  reverse() { throw notHere("reverse"); },
};
for (const kind of KINDS.slice(2)) {
  const name = `resolve${kind[0]}${kind.slice(1).toLowerCase()}`;
  methods[name] = (hostname) => {
    validateString(hostname, "name");
    throw notHere(name);
  };
}

/** What both kinds of Resolver have beside the methods. */
const settings = {
  cancel() {},
  getServers() { return []; },
  setLocalAddress() { throw notHere("setLocalAddress"); },
  setServers() { throw notHere("setServers"); },
};

module.exports = { methods, notHere, settings };
