"use strict";
// node:dns/promises (https://nodejs.org/api/dns.html#dns-promises-api): see dns.js.

const { isIP } = require("internal/net/address");
const { getDefaultResultOrder, lookupAll, readOptions, setDefaultResultOrder } = require("internal/dns/lookup");
const { methods, notHere, settings } = require("internal/dns/resolver");

function lookup(hostname, options) {
  const read = readOptions(hostname, options);
  const { all, family } = read;
  if (!hostname) return Promise.resolve(all ? [] : { address: null, family: family === 6 ? 6 : 4 });
  const own = isIP(hostname);
  if (own !== 0) return Promise.resolve(all ? [{ address: hostname, family: own }] : { address: hostname, family: own });
  return lookupAll(hostname, read).then((found) => (all ? found : found[0]));
}

class Resolver {}
for (const [name, value] of [...Object.entries(methods), ...Object.entries(settings)]) {
  Object.defineProperty(Resolver.prototype, name, { __proto__: null, value, writable: true, configurable: true });
}

module.exports = {
  ...require("internal/dns/codes"),
  Resolver,
  getDefaultResultOrder,
  getServers: settings.getServers,
  lookup,
  lookupService() { throw notHere("lookupService"); },
  ...methods,
  setDefaultResultOrder,
  setServers: settings.setServers,
};
