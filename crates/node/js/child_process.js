"use strict";
// node:child_process (https://nodejs.org/api/child_process.html): importable; what is used of it throws.

const { unavailable } = require("internal/unavailable");

module.exports = unavailable("child_process", [
  "ChildProcess", "exec", "execFile", "execFileSync", "execSync", "fork", "spawn", "spawnSync",
], "apps start no programs. Use a package's WebAssembly build, or a sandbox (docs/guide/sandboxes.md)");
