"use strict";
// Look-ups of addresses by the system's resolver, under the app's egress policy, for `node:dns` and `dns/promises`.

const net = binding("net");
const { DNSException, codes: { ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE } } = require("internal/errors");
const { numbers } = require("internal/system_errors");
const { validateBoolean, validateNumber, validateOneOf } = require("internal/validators");
const { isIP } = require("internal/net/address");

const ADDRCONFIG = 32;
const V4MAPPED = 8;
const ALL = 16;
const ORDERS = ["verbatim", "ipv4first", "ipv6first"];

let defaultOrder = "verbatim";

function getDefaultResultOrder() { return defaultOrder; }

function setDefaultResultOrder(order) {
  validateOneOf(order, "dnsOrder", ORDERS);
  defaultOrder = order;
}

/** What the second argument of `lookup` means; throws where it is wrong. */
function readOptions(hostname, options) {
  if (hostname && typeof hostname !== "string") throw new ERR_INVALID_ARG_TYPE("hostname", "string", hostname);
  let family = 0;
  let all = false;
  let order = defaultOrder;
  if (typeof options === "number") {
    validateOneOf(options, "family", [0, 4, 6]);
    family = options;
  } else if (options !== null && options !== undefined) {
    if (typeof options !== "object") throw new ERR_INVALID_ARG_TYPE("options", ["integer", "object"], options);
    if (options.hints !== undefined && options.hints !== null) {
      validateNumber(options.hints, "options.hints");
      if (options.hints & ~(ADDRCONFIG | V4MAPPED | ALL)) throw new ERR_INVALID_ARG_VALUE("hints", options.hints);
    }
    if (options.family !== undefined && options.family !== null) {
      family = options.family === "IPv4" ? 4 : options.family === "IPv6" ? 6 : options.family;
      validateOneOf(family, "options.family", [0, 4, 6]);
    }
    if (options.all !== undefined && options.all !== null) {
      validateBoolean(options.all, "options.all");
      all = options.all;
    }
    if (options.verbatim !== undefined && options.verbatim !== null) {
      validateBoolean(options.verbatim, "options.verbatim");
      order = options.verbatim ? "verbatim" : "ipv4first";
    }
    if (options.order !== undefined && options.order !== null) {
      validateOneOf(options.order, "options.order", ORDERS);
      order = options.order;
    }
  }
  return { family, all, order };
}

function sorted(addresses, order) {
  if (order === "verbatim") return addresses;
  const first = order === "ipv4first" ? 4 : 6;
  return [...addresses.filter((one) => one.family === first), ...addresses.filter((one) => one.family !== first)];
}

/** Addresses with their families; rejects with an error of Node's. */
async function lookupAll(hostname, { family, order }, syscall = "getaddrinfo") {
  const result = await net.lookup(hostname);
  if (result.length === 3 && !isIP(result[0])) throw lookupError(result, syscall, hostname);
  const found = result.map((address) => ({ address, family: isIP(address) }));
  const fitting = sorted(found.filter((one) => family === 0 || one.family === family), order);
  if (fitting.length === 0) throw new DNSException("ENOTFOUND", syscall, hostname);
  return fitting;
}

function lookupError([code, message], syscall, hostname) {
  if (code !== "EACCES") return new DNSException(code === "ETIMEDOUT" ? "ETIMEOUT" : "ENOTFOUND", syscall, hostname);
  const properties = { code, errno: numbers.get(code), syscall, hostname };
  return Object.assign(new Error(`${syscall} EACCES ${hostname}: ${message}`), properties);
}

module.exports = { ADDRCONFIG, ALL, V4MAPPED, getDefaultResultOrder, lookupAll, readOptions, setDefaultResultOrder };
