"use strict";
// node:dns (https://nodejs.org/api/dns.html), under the app's egress policy: a name can be looked up where a connection to it, or to
// some address, may be allowed. Each look-up is a subrequest.
//
// Deviations: addresses come from the system's resolver, also those of resolve4 and resolve6, whose ttl is 0; other records, reverse,
// lookupService and servers of the app's own choice are not supported and say so.

const process = require("process");
const { codes: { ERR_INVALID_ARG_TYPE } } = require("internal/errors");
const { validateFunction } = require("internal/validators");
const { isIP } = require("internal/net/address");
const {
  ADDRCONFIG, ALL, V4MAPPED, getDefaultResultOrder, lookupAll, readOptions, setDefaultResultOrder,
} = require("internal/dns/lookup");
const { methods, notHere, settings } = require("internal/dns/resolver");

function lookup(hostname, options, callback) {
  if (typeof options === "function") {
    callback = options;
    options = undefined;
  }
  const read = readOptions(hostname, options);
  validateFunction(callback, "callback");
  const { all } = read;
  if (!hostname) {
    if (all) process.nextTick(callback, null, []);
    else process.nextTick(callback, null, null, read.family === 6 ? 6 : 4);
    return {};
  }
  const own = isIP(hostname);
  if (own !== 0) {
    if (all) process.nextTick(callback, null, [{ address: hostname, family: own }]);
    else process.nextTick(callback, null, hostname, own);
    return {};
  }
  // Outside of the promise, so that what the callback throws is uncaught, not a rejection.
  lookupAll(hostname, read).then((found) => {
    if (all) process.nextTick(callback, null, found);
    else process.nextTick(callback, null, found[0].address, found[0].family);
  }, (error) => process.nextTick(callback, error));
  return {};
}

function withCallback(name) {
  return {
    [name](...args) {
      const callback = args.at(-1);
      if (args.length < 2 || typeof callback !== "function") {
        if (name !== "resolve" || args.length > 1) throw new ERR_INVALID_ARG_TYPE("callback", "Function", args.length < 2 ? undefined : callback);
      }
      validateFunction(callback, "callback");
      methods[name](...args.slice(0, -1)).then((found) => process.nextTick(callback, null, found), (error) => process.nextTick(callback, error));
      return {};
    },
  }[name];
}

class Resolver {}
const resolves = {};
for (const name of Object.keys(methods)) {
  resolves[name] = withCallback(name);
  Object.defineProperty(Resolver.prototype, name, { __proto__: null, value: resolves[name], writable: true, configurable: true });
}
for (const name of Object.keys(settings)) {
  Object.defineProperty(Resolver.prototype, name, { __proto__: null, value: settings[name], writable: true, configurable: true });
}

module.exports = {
  ...require("internal/dns/codes"),
  ADDRCONFIG,
  ALL,
  Resolver,
  V4MAPPED,
  getDefaultResultOrder,
  getServers: settings.getServers,
  lookup,
  lookupService() { throw notHere("lookupService"); },
  get promises() { return require("dns/promises"); },
  ...resolves,
  setDefaultResultOrder,
  setServers: settings.setServers,
};
