// @ts-check
"use strict";
// What the handlers of an HTMLRewriter are given: https://developers.cloudflare.com/workers/runtime-apis/html-rewriter/.
// A token's state is shared by all handlers that are called for it; each gets a face of its own, which is of no use when
// the handler is over. What a handler changes is noted as an edit, for the second pass of the rewriter (source.js).
//
// Deviations: content that is a ReadableStream or a Response is read as a whole, at once; what the encoding of the
// document cannot express in a name or a comment fails the body, not the call.

const {
  ArrayPrototypePush, FunctionPrototypeCall, ObjectDefineProperty, PromisePrototypeThen, RegExpPrototypeExec,
  SymbolIterator, TypeError, Uint8Array, markPromiseAsHandled,
} = require("primordials");
const webidl = require("webidl");
const { asciiLowercase } = require("infra/bytes");
const { isReadableStream, readAllBytes } = require("streams/native");
const { arrayBuffer, isResponse } = require("fetch/response");
const { op_text_decode } = require("ops");

const { converters } = webidl;
const INTERNAL = { __proto__: null };

// Actions, as src/ops/html_rewriter.rs has them.
const BEFORE = 0, AFTER = 1, PREPEND = 2, APPEND = 3, REPLACE = 4, SET_INNER_CONTENT = 5, REMOVE = 6, REMOVE_AND_KEEP_CONTENT = 7,
  SET_TEXT = 8, SET_ATTRIBUTE = 9, REMOVE_ATTRIBUTE = 10;

const IN_TAG_NAMES = /[ \n\r\t\f/>]/;
const IN_ATTRIBUTE_NAMES = /[ \n\r\t\f/>=]/;
const FIRST_IN_TAG_NAMES = /^[A-Za-z]/;
const ENDS_COMMENT = /-->|--!>|^-?>/;
const EXPIRED = "This content token is no longer valid. Content tokens are only valid during the execution of the relevant content handler.";

const toOptions = webidl.createDictionaryConverter("ContentOptions", [
  { key: "html", converter: converters.boolean, defaultValue: false },
]);

const decode = (bytes) => op_text_decode("utf-8", new Uint8Array(bytes), false, false);

function parserError(message) {
  return new TypeError(`Parser error: ${message}`);
}

function forbidden(pattern, text, what) {
  const found = RegExpPrototypeExec(pattern, text);
  if (found !== null) throw parserError(`\`${found[0]}\` character is forbidden in the ${what}`);
}

/** A token and what was done to it. `run`: the invocations of which it is one, with their edits. */
class State {
  run;
  /** The number of the invocation that is under way. */
  invocation = 0;
  removed = false;

  constructor(run) {
    this.run = run;
  }

  edit(action, text = undefined, value = undefined) {
    const { edits } = this.run;
    if (typeof text === "object") {
      markPromiseAsHandled(text);
      ArrayPrototypePush(this.run.waiting, edits.length + 2);
    }
    ArrayPrototypePush(edits, this.invocation, action, text, value);
  }
}

class ElementState extends State {
  number;
  name;
  canHaveContent;
  namespace;
  /** Name, value, name... */
  attributes;

  constructor(run, number, name, canHaveContent, namespace, attributes) {
    super(run);
    this.number = number;
    this.name = name;
    this.canHaveContent = canHaveContent;
    this.namespace = namespace;
    this.attributes = attributes;
    this.removed = run.isInRemoved();
  }

  indexOf(name) {
    const { attributes } = this;
    for (let i = 0; i < attributes.length; i += 2) if (attributes[i] === name) return i;
    return -1;
  }
}

/** Of comments, text and end tags. */
class TextState extends State {
  text;
  isLast;

  constructor(run, text, isLast = false) {
    super(run);
    this.text = text;
    this.isLast = isLast;
  }
}

class DoctypeState extends State {
  name;
  publicId;
  systemId;

  constructor(run, name, publicId, systemId) {
    super(run);
    this.name = name;
    this.publicId = publicId;
    this.systemId = systemId;
  }
}

/** @type {(face: any) => any} Throws when the handler is over. */
let stateOf;
/** @type {(face: any) => void} */
let expire;

class Face {
  /** @type {any} */
  #state;

  constructor(secret, state) {
    if (secret !== INTERNAL) webidl.illegalConstructor();
    this.#state = state;
  }

  static {
    stateOf = (face) => {
      const state = face.#state;
      if (state === undefined) throw new TypeError(EXPIRED);
      return state;
    };
    expire = (face) => {
      face.#state = undefined;
    };
  }
}

/** Notes an edit that inserts content. */
function insert(face, count, action, content, options) {
  const state = stateOf(face);
  webidl.requiredArguments(count, 1, "Failed to insert content");
  let text;
  if (isReadableStream(content)) text = readAllBytes(content, decode);
  else if (isResponse(content)) text = PromisePrototypeThen(FunctionPrototypeCall(arrayBuffer, content), decode);
  else text = converters.DOMString(content, "Failed to insert content", "Argument 1");
  const { html } = toOptions(options, "Failed to insert content", "Argument 2");
  // A conversion runs code of the app, which may have kept the token.
  stateOf(face).edit(action, text, html);
  return state;
}

/** What can be replaced: elements, comments, text. */
class Content extends Face {
  get removed() {
    return stateOf(this).removed;
  }

  before(content, options = undefined) {
    insert(this, arguments.length, BEFORE, content, options);
    return this;
  }

  after(content, options = undefined) {
    insert(this, arguments.length, AFTER, content, options);
    return this;
  }

  replace(content, options = undefined) {
    const state = insert(this, arguments.length, REPLACE, content, options);
    state.removed = true;
    state.run.removeContent(state);
    return this;
  }

  remove() {
    const state = stateOf(this);
    state.edit(REMOVE);
    state.removed = true;
    state.run.removeContent(state);
    return this;
  }
}
webidl.configureInterface(Content);

class AttributesIterator {
  #element;
  #list;
  #at = 0;

  constructor(secret, element, list) {
    if (secret !== INTERNAL) webidl.illegalConstructor();
    this.#element = element;
    this.#list = list;
  }

  next() {
    stateOf(this.#element);
    const at = this.#at;
    if (at >= this.#list.length) return { value: undefined, done: true };
    this.#at = at + 2;
    return { value: [this.#list[at], this.#list[at + 1]], done: false };
  }
}
webidl.configureInterface(AttributesIterator, "Attributes Iterator");
ObjectDefineProperty(AttributesIterator.prototype, SymbolIterator, {
  __proto__: null, writable: true, configurable: true, enumerable: false, value: function iterator() { return this; },
});

class Element extends Content {
  get tagName() {
    return stateOf(this).name;
  }

  set tagName(value) {
    stateOf(this);
    const name = converters.USVString(value, "Failed to set 'tagName'", "The value");
    if (name === "") throw parserError("Tag name can't be empty.");
    if (RegExpPrototypeExec(FIRST_IN_TAG_NAMES, name) === null) {
      throw parserError("The first character of the tag name should be an ASCII alphabetical character.");
    }
    forbidden(IN_TAG_NAMES, name, "tag name");
    const state = stateOf(this);
    state.edit(SET_TEXT, name);
    state.name = asciiLowercase(name);
  }

  get attributes() {
    const { attributes } = stateOf(this);
    const list = [];
    for (let i = 0; i < attributes.length; i++) ArrayPrototypePush(list, attributes[i]);
    return new AttributesIterator(INTERNAL, this, list);
  }

  get namespaceURI() {
    return stateOf(this).namespace;
  }

  getAttribute(name) {
    const { state, at } = Element.#find(this, arguments.length, name);
    return at < 0 ? null : state.attributes[at + 1];
  }

  hasAttribute(name) {
    return Element.#find(this, arguments.length, name).at >= 0;
  }

  setAttribute(name, value) {
    stateOf(this);
    const prefix = "Failed to execute 'setAttribute' on 'Element'";
    webidl.requiredArguments(arguments.length, 2, prefix);
    const key = asciiLowercase(converters.USVString(name, prefix, "Argument 1"));
    const text = converters.USVString(value, prefix, "Argument 2");
    if (key === "") throw parserError("Attribute name can't be empty.");
    forbidden(IN_ATTRIBUTE_NAMES, key, "attribute name");
    const state = stateOf(this);
    state.edit(SET_ATTRIBUTE, key, text);
    const at = state.indexOf(key);
    if (at < 0) ArrayPrototypePush(state.attributes, key, text);
    else state.attributes[at + 1] = text;
    return this;
  }

  removeAttribute(name) {
    const { state, key, at } = Element.#find(this, arguments.length, name);
    if (at < 0) return this;
    state.edit(REMOVE_ATTRIBUTE, key);
    const rest = [];
    for (let i = 0; i < state.attributes.length; i++) {
      if (i !== at && i !== at + 1) ArrayPrototypePush(rest, state.attributes[i]);
    }
    state.attributes = rest;
    return this;
  }

  prepend(content, options = undefined) {
    insert(this, arguments.length, PREPEND, content, options);
    return this;
  }

  append(content, options = undefined) {
    insert(this, arguments.length, APPEND, content, options);
    return this;
  }

  setInnerContent(content, options = undefined) {
    const state = insert(this, arguments.length, SET_INNER_CONTENT, content, options);
    state.run.removeContent(state);
    return this;
  }

  removeAndKeepContent() {
    const state = stateOf(this);
    state.edit(REMOVE_AND_KEEP_CONTENT);
    state.removed = true;
    return this;
  }

  onEndTag(handler) {
    const state = stateOf(this);
    const callback = converters.Function(handler, "Failed to execute 'onEndTag' on 'Element'", "Argument 1");
    if (!state.canHaveContent) throw parserError("No end tag.");
    state.run.setEndTagHandler(state.number, callback);
  }

  static #find(face, count, name) {
    stateOf(face);
    webidl.requiredArguments(count, 1, "Failed to look for an attribute");
    const key = asciiLowercase(converters.USVString(name, "Failed to look for an attribute", "Argument 1"));
    const state = stateOf(face);
    return { __proto__: null, state, key, at: state.indexOf(key) };
  }
}
webidl.configureInterface(Element);

class Comment extends Content {
  get text() {
    return stateOf(this).text;
  }

  set text(value) {
    stateOf(this);
    const text = converters.USVString(value, "Failed to set 'text'", "The value");
    if (RegExpPrototypeExec(ENDS_COMMENT, text) !== null) {
      throw parserError("Comment text shouldn't contain a comment-closing sequence.");
    }
    const state = stateOf(this);
    state.edit(SET_TEXT, text);
    state.text = text;
  }
}
webidl.configureInterface(Comment);

class Text extends Content {
  get text() {
    return stateOf(this).text;
  }

  get lastInTextNode() {
    return stateOf(this).isLast;
  }
}
webidl.configureInterface(Text);

class EndTag extends Face {
  get name() {
    return stateOf(this).text;
  }

  set name(value) {
    stateOf(this);
    const name = converters.USVString(value, "Failed to set 'name'", "The value");
    const state = stateOf(this);
    state.edit(SET_TEXT, name);
    state.text = asciiLowercase(name);
  }

  before(content, options = undefined) {
    insert(this, arguments.length, BEFORE, content, options);
    return this;
  }

  after(content, options = undefined) {
    insert(this, arguments.length, AFTER, content, options);
    return this;
  }

  remove() {
    stateOf(this).edit(REMOVE);
    return this;
  }
}
webidl.configureInterface(EndTag);

class Doctype extends Face {
  get name() {
    return stateOf(this).name;
  }

  get publicId() {
    return stateOf(this).publicId;
  }

  get systemId() {
    return stateOf(this).systemId;
  }
}
webidl.configureInterface(Doctype);

class DocumentEnd extends Face {
  append(content, options = undefined) {
    insert(this, arguments.length, APPEND, content, options);
    return this;
  }
}
webidl.configureInterface(DocumentEnd);

/** Of a class above, for one handler. */
const createFace = (Class, state) => new Class(INTERNAL, state);

module.exports = {
  Comment, Doctype, DoctypeState, DocumentEnd, Element, ElementState, EndTag, State, Text, TextState, createFace, expire,
};
