"use strict";
// node:trace_events (https://nodejs.org/api/tracing.html): there is no tracing to turn on; createTracing throws.

const { unavailable } = require("internal/unavailable");

module.exports = Object.assign(
  unavailable("trace_events", ["createTracing"], "use node:diagnostics_channel or performance.measure"),
  { getEnabledCategories() {} },
);
