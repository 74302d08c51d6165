// @ts-check
"use strict";
// Text of the type text/event-stream becomes events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation). No ops.

const { RegExpPrototypeExec, StringPrototypeCharCodeAt, StringPrototypeIncludes, StringPrototypeIndexOf, StringPrototypeSlice } =
  require("primordials");

const LF = 0x0a, CR = 0x0d;
const DIGITS = /^[0-9]+$/;

class EventStreamParser {
  /** @type {(type: string, data: string, id: string) => void} */
  onEvent;
  /** @type {(milliseconds: number) => void} */
  onRetry;
  /** The line that has not ended yet, and whether the text before it ended in CR. */
  rest = "";
  afterReturn = false;
  data = "";
  hasData = false;
  type = "";
  id = "";
  /** Of the last event that was complete. */
  lastId = "";

  constructor(onEvent, onRetry) {
    this.onEvent = onEvent;
    this.onRetry = onRetry;
  }

  /** The next piece of the text. */
  push(text) {
    let start = 0;
    for (let i = 0; i < text.length; i++) {
      const code = StringPrototypeCharCodeAt(text, i);
      const isSecond = code === LF && this.afterReturn;
      this.afterReturn = code === CR;
      if (isSecond) {
        start = i + 1;
      } else if (code === LF || code === CR) {
        const line = this.rest + StringPrototypeSlice(text, start, i);
        this.rest = "";
        start = i + 1;
        this.line(line);
      }
    }
    this.rest += StringPrototypeSlice(text, start);
  }

  /** The connection is gone: an event that is not complete is dropped. */
  reset() {
    this.rest = this.data = this.type = "";
    this.hasData = this.afterReturn = false;
    this.id = this.lastId;
  }

  line(line) {
    if (line === "") {
      this.dispatch();
      return;
    }
    const colon = StringPrototypeIndexOf(line, ":");
    if (colon === 0) return;
    const field = colon < 0 ? line : StringPrototypeSlice(line, 0, colon);
    let value = colon < 0 ? "" : StringPrototypeSlice(line, colon + 1);
    if (value[0] === " ") value = StringPrototypeSlice(value, 1);
    switch (field) {
      case "event":
        this.type = value;
        break;
      case "data":
        this.data = this.hasData ? `${this.data}\n${value}` : value;
        this.hasData = true;
        break;
      case "id":
        if (!StringPrototypeIncludes(value, "\0")) this.id = value;
        break;
      case "retry":
        if (RegExpPrototypeExec(DIGITS, value) !== null) this.onRetry(+value);
        break;
      default:
    }
  }

  dispatch() {
    this.lastId = this.id;
    const { data, hasData, type } = this;
    this.data = this.type = "";
    this.hasData = false;
    if (hasData) this.onEvent(type === "" ? "message" : type, data, this.lastId);
  }
}

module.exports = { EventStreamParser };
