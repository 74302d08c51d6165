"use strict";
// node:readline (https://nodejs.org/api/readline.html): the lines of a stream.
//
// Deviations: nothing is a terminal here, so there is no editing of lines, no history and no completion; cursorTo and the
// like write what a terminal would take.

const EventEmitter = require("events");
const process = require("process");
const { AbortError, ERR_USE_AFTER_CLOSE } = require("internal/errors");
const { validateAbortSignal, validateFunction } = require("internal/validators");

const ENDS = /\r\n|\n|\r|\u2028|\u2029/g;

class Interface extends EventEmitter {
  #input;
  #output;
  #rest = "";
  #isAfterReturn = false;
  #prompt;
  #answer;
  #decoder = new TextDecoder();
  #listeners;
  #isClosed = false;
  terminal = false;
  line = "";
  cursor = 0;
  history = [];

  constructor(input, output) {
    super();
    const options = typeof input?.on === "function" ? { input, output } : input;
    this.#input = this.input = options.input;
    this.#output = this.output = options.output;
    this.#prompt = options.prompt ?? "> ";
    this.#listeners = {
      data: (chunk) => this.#take(typeof chunk === "string" ? chunk : this.#decoder.decode(chunk, { stream: true })),
      end: () => this.#end(),
      error: (error) => this.emit("error", error),
    };
    for (const [type, listener] of Object.entries(this.#listeners)) this.#input.on(type, listener);
    const { signal } = options;
    if (signal !== undefined) {
      validateAbortSignal(signal, "options.signal");
      const close = () => this.close();
      if (signal.aborted) process.nextTick(close);
      else EventEmitter.addAbortListener(signal, close);
    }
    this.#input.resume();
  }

  get closed() { return this.#isClosed; }

  #take(text) {
    if (this.#isClosed) return;
    // A line feed after a return that ended the last chunk belongs to it.
    if (this.#isAfterReturn && text[0] === "\n") text = text.slice(1);
    if (text === "") return;
    this.#isAfterReturn = text.endsWith("\r");
    const lines = (this.#rest + text).split(ENDS);
    this.#rest = lines.pop();
    for (const line of lines) this.#deliver(line);
  }

  #deliver(line) {
    const answer = this.#answer;
    if (answer === undefined) {
      this.emit("line", line);
      return;
    }
    this.#answer = undefined;
    answer(line);
  }

  #end() {
    const rest = this.#rest;
    this.#rest = "";
    if (rest !== "") this.#deliver(rest);
    this.close();
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#input.pause();
    for (const [type, listener] of Object.entries(this.#listeners)) this.#input.removeListener(type, listener);
    this.emit("close");
  }

  [Symbol.dispose]() { this.close(); }

  pause() {
    this.#input.pause();
    this.emit("pause");
    return this;
  }

  resume() {
    this.#input.resume();
    this.emit("resume");
    return this;
  }

  getPrompt() { return this.#prompt; }
  setPrompt(prompt) { this.#prompt = `${prompt}`; }
  prompt() { this.#output?.write(this.#prompt); }
  write(text) { this.#take(typeof text === "string" ? text : this.#decoder.decode(text)); }
  getCursorPos() { return { rows: 0, cols: 0 }; }

  question(query, options, callback) {
    callback = typeof options === "function" ? options : callback;
    validateFunction(callback, "cb");
    if (this.#isClosed) throw new ERR_USE_AFTER_CLOSE("readline");
    const signal = options?.signal;
    if (signal?.aborted) return;
    if (this.#answer !== undefined) {
      this.prompt();
      return;
    }
    this.#output?.write(query);
    const answer = (line) => {
      abortion?.[Symbol.dispose]();
      callback(line);
    };
    const abortion = signal === undefined ? undefined : EventEmitter.addAbortListener(signal, () => {
      if (this.#answer === answer) this.#answer = undefined;
    });
    this.#answer = answer;
  }

  async *[Symbol.asyncIterator]() {
    for await (const [line] of EventEmitter.on(this, "line", { close: ["close"] })) yield line;
  }
}
Object.defineProperty(Interface.prototype.question, Symbol.for("nodejs.util.promisify.custom"), {
  value(query, options = {}) {
    return new Promise((resolve, reject) => {
      const { signal } = options;
      if (signal?.aborted) {
        reject(new AbortError(undefined, { cause: signal.reason }));
        return;
      }
      signal?.addEventListener("abort", () => reject(new AbortError(undefined, { cause: signal.reason })), { once: true });
      this.question(query, options, resolve);
    });
  },
});

const createInterface = (input, output) => new Interface(input, output);

/** Writes a terminal's sequence; returns what write does. */
function send(stream, text, callback) {
  if (callback !== undefined) validateFunction(callback, "callback");
  if (stream === null || stream === undefined) {
    if (callback !== undefined) process.nextTick(callback, null);
    return true;
  }
  return stream.write(text, callback);
}

const ESC = "\u001b[";
const clearLine = (stream, direction, callback) => send(stream, `${ESC}${direction < 0 ? 1 : direction > 0 ? 0 : 2}K`, callback);
const clearScreenDown = (stream, callback) => send(stream, `${ESC}0J`, callback);

function cursorTo(stream, x, y, callback) {
  if (typeof y === "function") [y, callback] = [undefined, y];
  return send(stream, typeof y === "number" ? `${ESC}${y + 1};${x + 1}H` : `${ESC}${x + 1}G`, callback);
}

function moveCursor(stream, dx, dy, callback) {
  const move = (n, more, less) => n === 0 ? "" : `${ESC}${Math.abs(n)}${n > 0 ? more : less}`;
  return send(stream, move(dx, "C", "D") + move(dy, "B", "A"), callback);
}

module.exports = {
  Interface, clearLine, clearScreenDown, createInterface, cursorTo, moveCursor,
  emitKeypressEvents: require("internal/unavailable").refuse("readline.emitKeypressEvents()", "nothing is a terminal"),
  get promises() { return require("readline/promises"); },
};
