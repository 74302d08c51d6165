// @ts-check
"use strict";
// EventSource (https://html.spec.whatwg.org/multipage/server-sent-events.html) over fetch, so the app's egress policy holds. It
// belongs to the request that made it, and ends with it.
// op_text_encode is for the header of the last event.
//
// Deviations: there are no cookies, so withCredentials changes nothing; a connection that is refused is tried again, as one that
// was lost is; there is no CORS.

const {
  FunctionPrototypeCall, MathMax, MathMin, PromisePrototypeThen, StringFromCharCode, StringPrototypeIndexOf, StringPrototypeSlice,
  TypedArrayPrototypeGetLength,
} = require("primordials");
const webidl = require("webidl");
const { EventTarget, Event, defineEventHandler, fire } = require("dom/event");
const { MessageEvent } = require("dom/events");
const { DOMException } = require("dom/exception");
const { createSignal, signalAbort } = require("dom/abort");
const { TextDecoder, decode } = require("encoding/text");
const { extractMimeType } = require("infra/mime");
const { registerPlatformClass } = require("platform_classes");
const { cancelTimer, startTimer } = require("timers");
const { ReadRequest, acquireDefaultReader, defaultRead } = require("streams/readable_core");
const { stateOfReadable } = require("streams/readable");
const { parseHref } = require("url/url");
const { getHeader } = require("fetch/headers");
const { streamOf } = require("fetch/inner_body");
const { bodyOf, headerListOf } = require("fetch/response");
const { statusOf, urlOf } = require("fetch/response_parts");
const { fetch } = require("fetch/fetch");
const { op_text_encode } = require("ops");
const { EventStreamParser } = require("event_source/parser");

const { converters } = webidl;
const CONNECTING = 0, OPEN = 1, CLOSED = 2;
// A server that asks for no delay at all and ends each stream would be asked without a pause.
const FIRST_DELAY = 3000, MIN_DELAY = 10, MAX_DELAY = 300_000;
const STREAM = { __proto__: null, stream: true };

const convertInit = webidl.createDictionaryConverter("EventSourceInit", [
  { key: "withCredentials", converter: converters.boolean, defaultValue: false },
]);

/** Headers are bytes: the id goes as UTF-8. */
function encodeId(id) {
  const bytes = op_text_encode(id);
  let text = "";
  for (let i = 0; i < TypedArrayPrototypeGetLength(bytes); i++) text += StringFromCharCode(bytes[i]);
  return text;
}

/** Of an http or https URL. */
function originOf(href) {
  const start = StringPrototypeIndexOf(href, "//") + 2;
  const end = StringPrototypeIndexOf(href, "/", start);
  const authority = end < 0 ? StringPrototypeSlice(href, start) : StringPrototypeSlice(href, start, end);
  const at = StringPrototypeIndexOf(authority, "@");
  return StringPrototypeSlice(href, 0, start) + StringPrototypeSlice(authority, at + 1);
}

/** Reads a body to its end; also the read request, one for all chunks. */
class Reading extends ReadRequest {
  reader;
  onText;
  onEnd;
  decoder = new TextDecoder();
  waiting = false;
  running = false;
  done = false;

  constructor(stream, onText, onEnd) {
    super();
    this.reader = acquireDefaultReader(stateOfReadable(stream));
    this.onText = onText;
    this.onEnd = onEnd;
  }

  run() {
    if (this.running) return;
    this.running = true;
    while (!this.waiting && !this.done) {
      this.waiting = true;
      defaultRead(this.reader, this);
    }
    this.running = false;
  }

  chunkSteps(chunk) {
    this.waiting = false;
    this.onText(FunctionPrototypeCall(decode, this.decoder, chunk, STREAM));
    if (!this.running) this.run();
  }

  closeSteps() {
    this.errorSteps();
  }

  errorSteps() {
    this.waiting = false;
    this.done = true;
    this.onEnd();
  }
}

class EventSource extends EventTarget {
  #url;
  #withCredentials;
  #state = CONNECTING;
  #delay = FIRST_DELAY;
  #failures = 0;
  #timer = 0;
  #origin = "";
  /** @type {any} Of the connection that is there or is tried. */
  #signal;
  #parser;

  constructor(url, eventSourceInitDict = undefined) {
    const prefix = "Failed to construct 'EventSource'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    url = converters.USVString(url, prefix, "Argument 1");
    const { withCredentials } = convertInit(eventSourceInitDict, prefix, "Argument 2");
    super();
    const href = parseHref(url);
    if (href === undefined) throw new DOMException(`${prefix}: Invalid URL: '${url}'`, "SyntaxError");
    this.#url = href;
    this.#withCredentials = withCredentials;
    this.#parser = new EventStreamParser((type, data, lastEventId) => {
      if (this.#state === CLOSED) return;
      fire(this, new MessageEvent(type, { __proto__: null, data, lastEventId, origin: this.#origin }));
    }, (delay) => { this.#delay = delay; });
    this.#connect();
  }

  get url() { return this.#url; }
  get withCredentials() { return this.#withCredentials; }
  get readyState() { return this.#state; }

  close() {
    if (!(#state in this)) throw webidl.brandError("Failed to execute 'close' on 'EventSource'");
    this.#end();
  }

  #end() {
    if (this.#state === CLOSED) return;
    this.#state = CLOSED;
    if (this.#timer !== 0) cancelTimer(this.#timer);
    signalAbort(this.#signal);
  }

  #connect() {
    this.#timer = 0;
    this.#signal = createSignal();
    const headers = { __proto__: null, accept: "text/event-stream", "cache-control": "no-cache" };
    const { lastId } = this.#parser;
    if (lastId !== "") headers["last-event-id"] = encodeId(lastId);
    const init = { __proto__: null, headers, signal: this.#signal };
    PromisePrototypeThen(fetch(this.#url, init), (response) => this.#receive(response), () => this.#reconnect());
  }

  #receive(response) {
    if (this.#state === CLOSED) return;
    const body = bodyOf(response), type = getHeader(headerListOf(response), "content-type");
    if (statusOf(response) !== 200 || type === null || extractMimeType(type)?.essence !== "text/event-stream") {
      this.#end();
      fire(this, new Event("error"));
      return;
    }
    this.#state = OPEN;
    this.#failures = 0;
    this.#origin = originOf(urlOf(response));
    fire(this, new Event("open"));
    if (body === null) this.#reconnect();
    else new Reading(streamOf(body), (text) => this.#parser.push(text), () => this.#reconnect()).run();
  }

  #reconnect() {
    if (this.#state === CLOSED) return;
    this.#parser.reset();
    this.#state = CONNECTING;
    fire(this, new Event("error"));
    if (/** @type {number} */ (this.#state) === CLOSED) return;
    const delay = MathMin(MathMax(this.#delay, MIN_DELAY) * 2 ** this.#failures, MAX_DELAY);
    this.#failures++;
    this.#timer = startTimer(() => this.#connect(), delay);
  }
}
webidl.defineConstants(EventSource, { CONNECTING, OPEN, CLOSED });
defineEventHandler(EventSource.prototype, "onopen");
defineEventHandler(EventSource.prototype, "onmessage");
defineEventHandler(EventSource.prototype, "onerror");
webidl.configureInterface(EventSource);
registerPlatformClass(EventSource, ["url", "readyState", "withCredentials"]);

module.exports = { EventSource };
