"use strict";
// node:async_hooks: the runtime's own, since it carries the frames of requests.

module.exports = binding("async_hooks");
