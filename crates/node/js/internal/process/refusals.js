"use strict";
// Methods of process that reach for the operating system's process: they throw, and say what to do instead.

const reasons = {
  abort: "the server is shared by all apps: throw an error to end a request",
  binding: "there are no such natives: use the public modules",
  _linkedBinding: "there are no such natives: use the public modules",
  chdir: "the working folder of an app is always its own, '/': use absolute paths",
  dlopen: "apps cannot load native code: use a package's WebAssembly build",
  execve: "apps start no programs: use a sandbox (hearth sandbox) for them",
  initgroups: "an app has no user of the system",
  kill: "apps send no signals: throw an error to end a request",
  openStdin: "the input of an app is its requests",
  setegid: "an app has no user of the system",
  seteuid: "an app has no user of the system",
  setgid: "an app has no user of the system",
  setgroups: "an app has no user of the system",
  setuid: "an app has no user of the system",
};

module.exports = (process) => {
  for (const [name, reason] of Object.entries(reasons)) {
    process[name] = () => {
      const error = new Error(`process.${name}() is not available in Hearth: ${reason}`);
      error.code = "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM";
      throw error;
    };
  }
};
