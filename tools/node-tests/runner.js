"use strict";
// Runs one file of Node's tests in a context of its own: GET /?parallel/test-path.js answers { status, message }.
// A runtime for requests has no moment at which everything has ended, so the runner plays the end of a process: when the
// calls that test/common expects have come, or none do for long enough, it emits beforeExit and exit. Checks at exit that
// fail are tried again until then. A file has passed when nothing was thrown that it did not catch, and they hold.

const QUIET = 100;
const POLL = 20;
const PATIENCE = 6000;

class Exit extends Error {
  constructor(code) {
    super(`process.exit(${code})`);
    this.code = code;
  }
}

// Tests replace globals.
const { setTimeout, Date, reportError, queueMicrotask } = globalThis;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const text = (error) => `${error?.stack ?? error}`.slice(0, 1500);

class Run {
  #process;
  #caught = [];
  #isExiting = false;
  #hasEnded = false;

  constructor(file) {
    const process = (this.#process = globalThis.process ?? require("process"));
    globalThis.process ??= process;
    process.argv = ["node", `${__dirname}/test/${file}`];
    // The app's folder is for reading.
    process.env.NODE_TEST_DIR = "/tmp";
    process.chdir = () => {};
    process.exit = process.reallyExit = (code) => this.#exit(code);
    globalThis.addEventListener("error", (event) => this.#onUncaught(event, () => event.error ?? event.message));
    globalThis.addEventListener("unhandledrejection", (event) => this.#onUncaught(event, () => event.reason));
  }

  /** It stands unless a listener of the test prevents what happens otherwise. */
  #onUncaught(event, errorOf) {
    if (errorOf() instanceof Exit) {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    queueMicrotask(() => { if (!event.defaultPrevented) this.#caught.push(errorOf()); });
  }

  #exit(code) {
    const process = this.#process;
    if (code !== undefined && code !== null) process.exitCode = code;
    if (!this.#isExiting) {
      this.#isExiting = true;
      try {
        process.emit("exit", process.exitCode ?? 0);
      } catch (error) {
        if (!(error instanceof Exit)) this.#caught.push(error);
      }
      this.#hasEnded = true;
    }
    throw new Exit(process.exitCode ?? 0);
  }

  #result() {
    if (this.#caught.length > 0) return { status: "fail", message: text(this.#caught[0]) };
    const code = this.#process.exitCode ?? 0;
    return this.#hasEnded && +code !== 0 ? { status: "fail", message: `process.exit(${code})` } : { status: "pass" };
  }

  async result(file) {
    const end = Date.now() + PATIENCE;
    const process = this.#process;
    try {
      require(`./test/${file}`);
    } catch (error) {
      // As the error of a main module.
      if (!(error instanceof Exit)) reportError(error);
    }
    await pause(QUIET);
    const isOver = () => this.#hasEnded || this.#caught.length > 0;
    const { missing } = require("./test/common");
    while (!isOver() && Date.now() < end && missing(process.listeners("exit"), process.listeners("beforeExit")).length > 0) await pause(POLL);
    if (!isOver()) {
      try {
        process.emit("beforeExit", process.exitCode ?? 0);
      } catch (error) {
        if (!(error instanceof Exit)) reportError(error);
      }
      await pause(POLL);
    }
    while (!isOver()) {
      let last;
      this.#isExiting = true;
      try {
        process.emit("exit", process.exitCode ?? 0);
        this.#hasEnded = true;
      } catch (error) {
        if (error instanceof Exit) this.#hasEnded = true;
        last = error;
      }
      this.#isExiting = false;
      if (!isOver() && Date.now() > end) return { status: "fail", message: text(last) };
      await pause(POLL);
    }
    return this.#result();
  }
}

module.exports = {
  async fetch(request) {
    const file = new URL(request.url).search.slice(1);
    return Response.json(await new Run(file).result(file));
  },
};
