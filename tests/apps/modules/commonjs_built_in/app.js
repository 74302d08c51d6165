// require() of a built-in module is what the module exports, not a namespace: packages change and call it.
const hooks = require("node:async_hooks");
const process = require("process");
process.argv = ["changed"];

module.exports = {
  fetch() {
    const same = hooks === require("async_hooks") && process === globalThis.process;
    return new Response(`${typeof hooks.AsyncLocalStorage},${process.argv},${same}`);
  },
};
