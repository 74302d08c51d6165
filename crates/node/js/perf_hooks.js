"use strict";
// node:perf_hooks (https://nodejs.org/api/perf_hooks.html): the global performance and its classes, and histograms.
//
// Deviations: monitorEventLoopDelay and eventLoopUtilization measure nothing, since turns of many apps share the threads:
// they throw.

const { refuse } = require("internal/unavailable");
const { createHistogram } = require("internal/histogram");

const names = [
  "Performance", "PerformanceEntry", "PerformanceMark", "PerformanceMeasure", "PerformanceObserver",
  "PerformanceObserverEntryList", "PerformanceResourceTiming",
];
for (const name of names) if (name in globalThis) exports[name] = globalThis[name];

exports.performance = performance;
exports.createHistogram = createHistogram;
exports.constants = Object.freeze({
  NODE_PERFORMANCE_GC_MAJOR: 4, NODE_PERFORMANCE_GC_MINOR: 1, NODE_PERFORMANCE_GC_INCREMENTAL: 8, NODE_PERFORMANCE_GC_WEAKCB: 16,
});
exports.monitorEventLoopDelay = refuse("perf_hooks.monitorEventLoopDelay()", "read the server's metrics");
exports.eventLoopUtilization = refuse("perf_hooks.eventLoopUtilization()", "read the server's metrics");
exports.timerify = function timerify(fn, options = {}) {
  const { validateFunction, validateObject } = require("internal/validators");
  validateFunction(fn, "fn");
  validateObject(options, "options");
  const { histogram } = options;
  return function timerified(...args) {
    const start = performance.now();
    const record = () => histogram?.record(Math.max(1, Math.ceil((performance.now() - start) * 1e6)));
    const result = new.target ? Reflect.construct(fn, args, fn) : Reflect.apply(fn, this, args);
    if (typeof result?.finally === "function") return result.finally(record);
    record();
    return result;
  };
};
