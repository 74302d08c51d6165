// @ts-check
"use strict";
// Which request is running: the async context frame that V8 carries through promise reactions (its
// continuation-preserved embedder data). A frame is immutable: { request, store }; `request` is the id that ops are
// given, `store` the values of AsyncLocalStorage (a linked list, newest first). Entering a request sets the frame;
// everything that request awaits gets it back from V8, so two requests interleaved in one context never mix.

const { ObjectSetPrototypeOf } = require("primordials");
const { getContinuationPreservedEmbedderData, setContinuationPreservedEmbedderData } = require("extras");

/** No request: module evaluation and whatever it left running. */
const OUTSIDE = 0;

/** @returns {{ request: number, store: unknown } | undefined} */
function currentFrame() {
  return getContinuationPreservedEmbedderData();
}

function currentRequest() {
  const frame = getContinuationPreservedEmbedderData();
  return frame === undefined ? OUTSIDE : frame.request;
}

/** Makes `frame` current and returns the one before, for the caller to put back. */
function swapFrame(frame) {
  const before = getContinuationPreservedEmbedderData();
  setContinuationPreservedEmbedderData(frame);
  return before;
}

/** Immutable by convention; never seen by apps. A class, because literals without a prototype are slow dictionaries. */
class Frame {
  constructor(request, store) {
    this.request = request;
    this.store = store;
  }
}
// Or assigning to a field that is not there yet could call a setter of Object.prototype.
ObjectSetPrototypeOf(Frame.prototype, null);

/** A frame for a request's first entry. */
function frameFor(request) {
  return new Frame(request, undefined);
}

module.exports = { OUTSIDE, Frame, currentFrame, currentRequest, swapFrame, frameFor };
