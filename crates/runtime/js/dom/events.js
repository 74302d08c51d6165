// @ts-check
"use strict";
// The events that carry something: CustomEvent (DOM), ErrorEvent, MessageEvent, PromiseRejectionEvent (HTML), CloseEvent
// (WebSockets), ProgressEvent (XHR). https://dom.spec.whatwg.org/#interface-customevent and their own specs. No ops.
//
// Deviation: the `source` of a MessageEvent is any EventTarget or null, its `ports` are not checked: there are no ports.

const { ObjectFreeze } = require("primordials");
const webidl = require("webidl");
const { converters } = webidl;
const { Event, eventInitMembers, initEvent, isEventTarget } = require("dom/event");

const text = (key) => ({ key, converter: converters.USVString, defaultValue: "" });
const dictionary = (name, members) => webidl.createDictionaryConverter(name, eventInitMembers, members);

// Each constructor converts its arguments before it calls Event's, which then reads the copy and
// not the app's object: its getters run once.

const convertCustomEventInit = dictionary("CustomEventInit", [
  { key: "detail", converter: converters.any, defaultValue: null },
]);

class CustomEvent extends Event {
  #detail;
  constructor(type, eventInitDict = undefined) {
    const prefix = "Failed to construct 'CustomEvent'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    const init = convertCustomEventInit(eventInitDict, prefix, "Argument 2");
    super(type, init);
    this.#detail = init.detail;
  }
  get detail() { return this.#detail; }
  initCustomEvent(type, bubbles = false, cancelable = false, detail = null) {
    const prefix = "Failed to execute 'initCustomEvent' on 'CustomEvent'";
    if (!(#detail in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    if (initEvent(this, type, converters.boolean(bubbles), converters.boolean(cancelable))) this.#detail = detail;
  }
}
webidl.configureInterface(CustomEvent);

const convertErrorEventInit = dictionary("ErrorEventInit", [
  { key: "message", converter: converters.DOMString, defaultValue: "" },
  text("filename"),
  { key: "lineno", converter: converters["unsigned long"], defaultValue: 0 },
  { key: "colno", converter: converters["unsigned long"], defaultValue: 0 },
  { key: "error", converter: converters.any },
]);

class ErrorEvent extends Event {
  #init;
  constructor(type, eventInitDict = undefined) {
    const prefix = "Failed to construct 'ErrorEvent'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    const init = convertErrorEventInit(eventInitDict, prefix, "Argument 2");
    super(type, init);
    this.#init = init;
  }
  get message() { return this.#init.message; }
  get filename() { return this.#init.filename; }
  get lineno() { return this.#init.lineno; }
  get colno() { return this.#init.colno; }
  get error() { return this.#init.error; }
}
webidl.configureInterface(ErrorEvent);

const convertMessageEventInit = dictionary("MessageEventInit", [
  { key: "data", converter: converters.any, defaultValue: null },
  text("origin"),
  { key: "lastEventId", converter: converters.DOMString, defaultValue: "" },
  {
    key: "source",
    converter: webidl.createNullableConverter(webidl.createInterfaceConverter("EventTarget", isEventTarget)),
    defaultValue: null,
  },
  { key: "ports", converter: webidl.createSequenceConverter(converters.object), defaultValue: () => [] },
]);

class MessageEvent extends Event {
  #init;
  constructor(type, eventInitDict = undefined) {
    const prefix = "Failed to construct 'MessageEvent'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    const init = convertMessageEventInit(eventInitDict, prefix, "Argument 2");
    super(type, init);
    ObjectFreeze(init.ports);
    this.#init = init;
  }
  get data() { return this.#init.data; }
  get origin() { return this.#init.origin; }
  get lastEventId() { return this.#init.lastEventId; }
  get source() { return this.#init.source; }
  get ports() { return this.#init.ports; }
  initMessageEvent(type, bubbles = false, cancelable = false, data = null, origin = "", lastEventId = "", source = null, ports = []) {
    const prefix = "Failed to execute 'initMessageEvent' on 'MessageEvent'";
    if (!(#init in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    const init = convertMessageEventInit({ __proto__: null, data, origin, lastEventId, source, ports }, prefix, "Arguments");
    if (initEvent(this, type, converters.boolean(bubbles), converters.boolean(cancelable))) {
      ObjectFreeze(init.ports);
      this.#init = init;
    }
  }
}
webidl.configureInterface(MessageEvent);

const convertCloseEventInit = dictionary("CloseEventInit", [
  { key: "wasClean", converter: converters.boolean, defaultValue: false },
  { key: "code", converter: converters["unsigned short"], defaultValue: 0 },
  text("reason"),
]);

class CloseEvent extends Event {
  #init;
  constructor(type, eventInitDict = undefined) {
    const prefix = "Failed to construct 'CloseEvent'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    const init = convertCloseEventInit(eventInitDict, prefix, "Argument 2");
    super(type, init);
    this.#init = init;
  }
  get wasClean() { return this.#init.wasClean; }
  get code() { return this.#init.code; }
  get reason() { return this.#init.reason; }
}
webidl.configureInterface(CloseEvent);

const convertPromiseRejectionEventInit = dictionary("PromiseRejectionEventInit", [
  { key: "promise", converter: converters.object, required: true },
  { key: "reason", converter: converters.any },
]);

class PromiseRejectionEvent extends Event {
  #init;
  constructor(type, eventInitDict) {
    const prefix = "Failed to construct 'PromiseRejectionEvent'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    const init = convertPromiseRejectionEventInit(eventInitDict, prefix, "Argument 2");
    super(type, init);
    this.#init = init;
  }
  get promise() { return this.#init.promise; }
  get reason() { return this.#init.reason; }
}
webidl.configureInterface(PromiseRejectionEvent);

const convertProgressEventInit = dictionary("ProgressEventInit", [
  { key: "lengthComputable", converter: converters.boolean, defaultValue: false },
  { key: "loaded", converter: converters.double, defaultValue: 0 },
  { key: "total", converter: converters.double, defaultValue: 0 },
]);

class ProgressEvent extends Event {
  #init;
  constructor(type, eventInitDict = undefined) {
    const prefix = "Failed to construct 'ProgressEvent'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    type = converters.DOMString(type, prefix, "Argument 1");
    const init = convertProgressEventInit(eventInitDict, prefix, "Argument 2");
    super(type, init);
    this.#init = init;
  }
  get lengthComputable() { return this.#init.lengthComputable; }
  get loaded() { return this.#init.loaded; }
  get total() { return this.#init.total; }
}
webidl.configureInterface(ProgressEvent);

module.exports = { CustomEvent, ErrorEvent, MessageEvent, CloseEvent, PromiseRejectionEvent, ProgressEvent };
