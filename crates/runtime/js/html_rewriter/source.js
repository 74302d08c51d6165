// @ts-check
"use strict";
// The body of a response that an HTMLRewriter transforms: a byte stream whose source reads the original body, slice by
// slice. A slice is recorded (which handlers are due), the handlers run in their order, each waited for, and then the
// slice is edited, which gives the output: see src/html_rewriter/mod.rs. Adds to the ops of src/ops/html_rewriter.rs.
//
// Nothing is read before the output is, and no more than it takes to have some output.

const {
  ArrayPrototypePush, FunctionPrototypeCall, PromisePrototypeThen, PromiseWithResolvers, SafeMap, SafeSet, TypeError,
  TypedArrayPrototypeGetBuffer, TypedArrayPrototypeGetByteLength, markPromiseAsHandled,
} = require("primordials");
const webidl = require("webidl");
const { READABLE, CLOSED, ReadRequest, ReadableState, acquireDefaultReader, defaultRead, readableCancel } = require("streams/readable_core");
const { Source } = require("streams/controller");
const { ByteController } = require("streams/byte_controller");
const { stateOfReadable, wrapReadable } = require("streams/readable");
const { isObject, promiseOf } = require("streams/promises");
const {
  Comment, Doctype, DoctypeState, DocumentEnd, Element, ElementState, EndTag, State, Text, TextState, createFace, expire,
} = require("html_rewriter/tokens");
const { op_html_rewriter_edit, op_html_rewriter_free, op_html_rewriter_new, op_html_rewriter_record } = require("ops");

// Kinds of tokens, as src/ops/html_rewriter.rs has them.
const SAME = 0, ELEMENT = 1, COMMENT = 2, TEXT = 3, DOCTYPE = 4, END_TAG = 5, END = 6;

/** One read, as a promise of the chunk or of undefined at the end. */
class Read extends ReadRequest {
  resolvers = PromiseWithResolvers();

  chunkSteps(chunk) {
    // In a list, so that no `then` of an app's chunk is asked for.
    this.resolvers.resolve([chunk]);
  }

  closeSteps() {
    this.resolvers.resolve(undefined);
  }

  errorSteps(error) {
    this.resolvers.reject(error);
  }
}

class RewriteSource extends Source {
  input;
  reader;
  handlers;
  rewriter;
  /** @type {any} What is left of it from `at` on is not rewritten yet. */
  chunk = undefined;
  at = 0;
  length = 0;
  cancelled = false;

  // Of the slice that is under way, for tokens.js.
  /** Invocation, action, text, value, invocation... */
  edits = [];
  /** Where `edits` has a promise of a text. */
  waiting = [];
  /** By the number of an element. */
  endTagHandlers = new SafeMap();
  /** Open elements whose content is removed. */
  removed = new SafeSet();

  constructor(input, encoding, handlers) {
    super();
    this.handlers = handlers;
    const list = [];
    for (let i = 0; i < handlers.length; i++) ArrayPrototypePush(list, handlers[i].selector, handlers[i].callbacks);
    this.rewriter = op_html_rewriter_new(this, encoding, list);
    this.input = stateOfReadable(input);
    this.reader = acquireDefaultReader(this.input);
  }

  async pull(controller) {
    try {
      let output;
      do {
        if (this.chunk === undefined && !(await this.read())) {
          output = await this.rewrite(true);
          if (!this.cancelled) this.finish(controller, output);
          return;
        }
        output = await this.rewrite(false);
      } while (output === undefined && !this.cancelled);
      if (!this.cancelled) enqueue(controller, output);
    } catch (error) {
      op_html_rewriter_free(this.rewriter);
      markPromiseAsHandled(readableCancel(this.input, error));
      if (!this.cancelled) throw error;
    }
  }

  cancel(reason) {
    this.cancelled = true;
    op_html_rewriter_free(this.rewriter);
    return readableCancel(this.input, reason);
  }

  /** Whether there is a chunk. */
  async read() {
    for (;;) {
      const request = new Read();
      defaultRead(this.reader, request);
      const result = await request.resolvers.promise;
      if (result === undefined) return false;
      const chunk = result[0];
      if (!webidl.isUint8Array(chunk)) throw new TypeError("A chunk of a body must be a Uint8Array");
      this.length = TypedArrayPrototypeGetByteLength(chunk);
      if (this.length === 0) continue;
      this.chunk = chunk;
      this.at = 0;
      return true;
    }
  }

  /** Rewrites the next slice, or the end of the document: the output, or undefined where there is none. */
  async rewrite(isEnd) {
    if (this.cancelled) return undefined;
    const events = op_html_rewriter_record(this.rewriter, isEnd ? undefined : this.chunk, this.at);
    this.at += events[0];
    // The app may have detached the chunk: then nothing is left of it.
    if (this.at >= this.length || events[0] === 0) this.chunk = undefined;
    if (events.length > 1) await this.invokeAll(events);
    const { edits, waiting } = this;
    for (let i = 0; i < waiting.length; i++) edits[waiting[i]] = await edits[waiting[i]];
    this.edits = [];
    this.waiting = [];
    return this.cancelled ? undefined : op_html_rewriter_edit(this.rewriter, edits);
  }

  async invokeAll(events) {
    let kind = SAME;
    let state;
    let invocation = 0;
    for (let at = 1; at < events.length && !this.cancelled; invocation++) {
      const owner = events[at + 1];
      if (events[at] !== SAME) kind = events[at];
      const isSame = events[at] === SAME;
      at += 2;
      if (!isSame) {
        state = this.stateFrom(kind, events, at);
        at += LENGTHS[kind];
      }
      state.invocation = invocation;
      const pending = kind === END_TAG ? this.endElement(owner, state) : this.invoke(kind, owner, state);
      if (pending !== undefined) await pending;
    }
  }

  stateFrom(kind, events, at) {
    switch (kind) {
      case ELEMENT: return new ElementState(this, events[at], events[at + 1], events[at + 2], events[at + 3], events[at + 4]);
      case TEXT: return new TextState(this, events[at], events[at + 1]);
      case DOCTYPE: return new DoctypeState(this, events[at], events[at + 1], events[at + 2]);
      case END: return new State(this);
      default: return new TextState(this, events[at]);
    }
  }

  invoke(kind, owner, state) {
    const { members, object } = this.handlers[owner];
    switch (kind) {
      case ELEMENT: return call(members.element, object, createFace(Element, state));
      case COMMENT: return call(members.comments, object, createFace(Comment, state));
      case TEXT: return call(members.text, object, createFace(Text, state));
      case DOCTYPE: return call(members.doctype, object, createFace(Doctype, state));
      default: return call(members.end, object, createFace(DocumentEnd, state));
    }
  }

  endElement(number, state) {
    this.removed.delete(number);
    const callback = this.endTagHandlers.get(number);
    if (callback === undefined) return undefined;
    this.endTagHandlers.delete(number);
    return call(callback, undefined, createFace(EndTag, state));
  }

  // ---- For tokens.js

  /** The last one counts, as in Workers. */
  setEndTagHandler(number, callback) {
    this.endTagHandlers.set(number, callback);
  }

  /** What is in the element will not come out: the elements in it count as removed. */
  removeContent(state) {
    if (state.canHaveContent === true) this.removed.add(state.number);
  }

  isInRemoved() {
    return this.removed.size > 0;
  }

  finish(controller, output) {
    op_html_rewriter_free(this.rewriter);
    if (output !== undefined) enqueue(controller, output);
    controller.close();
    if (controller.pendingPullIntos.length > 0 && controller.stream.status === CLOSED) controller.respond(0);
  }
}

/** How many items of an event come after its kind and its owner. */
const LENGTHS = [0, 5, 1, 2, 3, 1, 0];

function enqueue(controller, output) {
  if (controller.stream.status !== READABLE) return;
  controller.enqueueOwned(TypedArrayPrototypeGetBuffer(output), 0, TypedArrayPrototypeGetByteLength(output));
}

/** Calls a handler; a promise where it is to be waited for. The token is of no use afterwards. */
function call(callback, object, face) {
  let result;
  try {
    result = FunctionPrototypeCall(callback, object, face);
  } catch (error) {
    expire(face);
    throw error;
  }
  if (!isObject(result)) {
    expire(face);
    return undefined;
  }
  return PromisePrototypeThen(promiseOf(result), () => {
    expire(face);
  }, (error) => {
    expire(face);
    throw error;
  });
}

/** The stream of what the rewriter makes of `input`, which is locked from now on. */
function rewrittenStream(input, encoding, handlers) {
  const state = new ReadableState();
  new ByteController(state, new RewriteSource(input, encoding, handlers), 0, undefined).startNow();
  return wrapReadable(state);
}

module.exports = { rewrittenStream };
