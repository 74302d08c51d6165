"use strict";
// BlockList and SocketAddress (https://nodejs.org/api/net.html#class-netblocklist).

const { codes: { ERR_INVALID_ADDRESS, ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE } } = require("internal/errors");
const { validateInt32, validateObject, validatePort, validateString, validateUint32 } = require("internal/validators");
const { isIPv4, isIPv6, valueOf } = require("internal/net/address");

function validateFamily(family, name) {
  validateString(family, name);
  family = family.toLowerCase();
  if (family !== "ipv4" && family !== "ipv6") throw new ERR_INVALID_ARG_VALUE(name, family);
  return family;
}

class SocketAddress {
  #address;
  #port;
  #family;
  #flowlabel;

  constructor(options = {}) {
    validateObject(options, "options");
    const family = validateFamily(options.family === undefined ? "ipv4" : options.family, "options.family");
    const { address = family === "ipv4" ? "127.0.0.1" : "::", port = 0, flowlabel = 0 } = options;
    validateString(address, "options.address");
    validatePort(port, "options.port");
    validateUint32(flowlabel, "options.flowlabel", false);
    if (!(family === "ipv4" ? isIPv4 : isIPv6)(address)) throw new ERR_INVALID_ADDRESS();
    this.#address = address;
    this.#port = +port;
    this.#family = family;
    this.#flowlabel = flowlabel;
  }

  static isSocketAddress(value) { return typeof value === "object" && value !== null && #address in value; }

  /** "127.0.0.1:80", "[::1]:80"; undefined where it is no address. */
  static parse(input) {
    validateString(input, "input");
    const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(input);
    if (match === null) return undefined;
    try {
      const family = match[1] === undefined ? "ipv4" : "ipv6";
      return new SocketAddress({ address: match[1] ?? match[2], port: Number(match[3] ?? 0), family });
    } catch {
      return undefined;
    }
  }

  get address() { return this.#address; }
  get port() { return this.#port; }
  get family() { return this.#family; }
  get flowlabel() { return this.#family === "ipv4" ? 0 : this.#flowlabel; }
  toJSON() {
    return { address: this.address, port: this.port, family: this.family, flowlabel: this.flowlabel };
  }
}

function read(address, family, name) {
  if (!SocketAddress.isSocketAddress(address)) {
    validateString(address, name);
    address = new SocketAddress({ address, family: validateFamily(family ?? "ipv4", "family") });
  }
  return { text: address.address, family: address.family, ...valueOf(address.address, address.family === "ipv4" ? 4 : 6) };
}

class BlockList {
  #rules = [];

  static isBlockList(value) { return typeof value === "object" && value !== null && #rules in value; }

  addAddress(address, family = "ipv4") {
    const { text, family: kind, bits, value } = read(address, family, "address");
    this.#rules.unshift({ bits, first: value, last: value, text: `Address: ${title(kind)} ${text}` });
  }

  addRange(start, end, family = "ipv4") {
    const first = read(start, family, "start");
    const last = read(end, family, "end");
    if (first.bits !== last.bits || first.value > last.value) throw new ERR_INVALID_ARG_VALUE("start", start, "must come before end");
    const text = `Range: ${title(first.family)} ${first.text}-${last.text}`;
    this.#rules.unshift({ bits: first.bits, first: first.value, last: last.value, text });
  }

  addSubnet(network, prefix, family = "ipv4") {
    const net = read(network, family, "network");
    validateInt32(prefix, "prefix", 0, net.family === "ipv4" ? 32 : 128);
    const free = BigInt(net.bits - Math.max(0, prefix - (net.family === "ipv6" && net.bits === 32 ? 96 : 0)));
    const first = net.value >> free << free;
    const text = `Subnet: ${title(net.family)} ${net.text}/${prefix}`;
    this.#rules.unshift({ bits: net.bits, first, last: first | ((1n << free) - 1n), text });
  }

  check(address, family = "ipv4") {
    if (!SocketAddress.isSocketAddress(address)) {
      validateString(address, "address");
      validateFamily(family, "family");
    }
    let read_;
    try {
      read_ = read(address, family, "address");
    } catch {
      return false;
    }
    const { bits, value } = read_;
    return this.#rules.some((rule) => rule.bits === bits && rule.first <= value && value <= rule.last);
  }

  get rules() { return this.#rules.map((rule) => rule.text); }
  toJSON() { return this.rules; }

  fromJSON(data) {
    const list = typeof data === "string" ? JSON.parse(data) : data;
    if (!Array.isArray(list)) throw new ERR_INVALID_ARG_TYPE("data", ["string", "string[]"], data);
    for (const text of list) {
      const match = /^(Address|Range|Subnet): (IPv4|IPv6) ([^\s/-]+)(?:[-/](\S+))?$/.exec(text);
      if (match === null) throw new ERR_INVALID_ARG_VALUE("data", data);
      const [, kind, family, first, second] = match;
      if (kind === "Address") this.addAddress(first, family);
      else if (kind === "Range") this.addRange(first, second, family);
      else this.addSubnet(first, Number(second), family);
    }
  }
}

function title(family) {
  return family === "ipv4" ? "IPv4" : "IPv6";
}

module.exports = { BlockList, SocketAddress };
