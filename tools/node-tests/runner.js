"use strict";
// Runs one file of Node's tests in a context of its own: GET /?parallel/test-path.js answers { status, message }.
// A file has passed when it was evaluated, nothing was thrown, and its checks at exit hold; they are tried again and
// again until then, since a runtime for requests has no moment at which everything has ended.

const QUIET = 120;
const PATIENCE = 8000;

class Exit extends Error {
  constructor(code) {
    super(`process.exit(${code})`);
    this.code = code;
  }
}

async function run(file) {
  const process = require("process");
  globalThis.process ??= process;
  const caught = [];
  const text = (error) => `${error?.stack ?? error}`.slice(0, 1500);
  process.argv = ["node", `${__dirname}/test/${file}`];
  // The app's folder is for reading.
  process.env.NODE_TEST_DIR = "/tmp";
  process.chdir = () => {};
  let left;
  process.exit = process.reallyExit = (code) => {
    left ??= new Exit(code ?? process.exitCode ?? 0);
    throw left;
  };
  const fail = (error) => { if (!(error instanceof Exit)) caught.push(error); };
  globalThis.addEventListener("error", (event) => {
    // A test that listens itself has what it wants.
    if (process.listenerCount?.("uncaughtException") > 0) return;
    fail(event.error ?? event.message);
  });
  globalThis.addEventListener("unhandledrejection", (event) => {
    if (process.listenerCount?.("unhandledRejection") > 0) return;
    fail(event.reason);
  });
  try {
    require(`./test/${file}`);
  } catch (error) {
    if (!(error instanceof Exit)) return { status: "fail", message: text(error) };
  }
  let last;
  for (const end = Date.now() + PATIENCE; Date.now() < end;) {
    await new Promise((resolve) => setTimeout(resolve, QUIET));
    if (caught.length > 0) return { status: "fail", message: text(caught[0]) };
    if (left !== undefined && left.code !== 0) return { status: "fail", message: left.message };
    try {
      process.emit("exit", process.exitCode ?? 0);
      return { status: "pass" };
    } catch (error) {
      if (error instanceof Exit && error.code === 0) return { status: "pass" };
      last = error;
    }
  }
  return { status: "fail", message: text(last) };
}

module.exports = {
  async fetch(request) {
    const file = new URL(request.url).search.slice(1);
    return Response.json(await run(file));
  },
};
