"use strict";
// node:cluster (https://nodejs.org/api/cluster.html): importable; what is used of it throws.

const { unavailable } = require("internal/unavailable");

module.exports = Object.assign(unavailable("cluster", ["Worker", "disconnect", "fork", "setupMaster", "setupPrimary"],
  "the server runs as many workers of an app as it needs. Take the branch for a process without a cluster"), {
  isMaster: true, isPrimary: true, isWorker: false, SCHED_NONE: 1, SCHED_RR: 2, schedulingPolicy: 2, settings: {}, workers: {},
});
