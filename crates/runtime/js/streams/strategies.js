// @ts-check
"use strict";
// Queuing strategies: https://streams.spec.whatwg.org/#qs

const { FunctionPrototypeCall, NumberIsNaN, ObjectDefineProperty, RangeError, TypeError } = require("primordials");
const webidl = require("webidl");

const { converters } = webidl;

const convertStrategyInit = webidl.createDictionaryConverter("QueuingStrategyInit", [
  { key: "highWaterMark", converter: converters["unrestricted double"], required: true },
]);

/** The dictionary QueuingStrategy, as the constructors of streams take it. */
const convertStrategy = webidl.createDictionaryConverter("QueuingStrategy", [
  { key: "highWaterMark", converter: converters["unrestricted double"] },
  { key: "size", converter: webidl.createCallbackConverter("QueuingStrategySize") },
]);

// One function each for all instances, without a prototype and not constructible, hence arrows.
const byteLengthSize = (chunk) => chunk.byteLength;
const countSize = () => 1;
const SIZE_NAME = { __proto__: null, value: "size", configurable: true };
ObjectDefineProperty(byteLengthSize, "name", SIZE_NAME);
ObjectDefineProperty(countSize, "name", SIZE_NAME);

class ByteLengthQueuingStrategy {
  #highWaterMark;

  constructor(init) {
    const prefix = "Failed to construct 'ByteLengthQueuingStrategy'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    this.#highWaterMark = convertStrategyInit(init, prefix, "Argument 1").highWaterMark;
  }

  get highWaterMark() {
    return this.#highWaterMark;
  }

  get size() {
    if (!(#highWaterMark in this)) throw new TypeError("Illegal invocation");
    return byteLengthSize;
  }
}

class CountQueuingStrategy {
  #highWaterMark;

  constructor(init) {
    const prefix = "Failed to construct 'CountQueuingStrategy'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    this.#highWaterMark = convertStrategyInit(init, prefix, "Argument 1").highWaterMark;
  }

  get highWaterMark() {
    return this.#highWaterMark;
  }

  get size() {
    if (!(#highWaterMark in this)) throw new TypeError("Illegal invocation");
    return countSize;
  }
}

webidl.configureInterface(ByteLengthQueuingStrategy);
webidl.configureInterface(CountQueuingStrategy);

/** ExtractHighWaterMark */
function highWaterMarkOf(strategy, defaultMark) {
  const mark = strategy.highWaterMark;
  if (mark === undefined) return defaultMark;
  if (NumberIsNaN(mark) || mark < 0) throw new RangeError("highWaterMark must be a non-negative number");
  return mark;
}

/** Runs the size function of a strategy (undefined: every chunk counts 1). May throw what the function throws. */
function sizeOf(sizeFunction, chunk) {
  if (sizeFunction === undefined || sizeFunction === countSize) return 1;
  return converters["unrestricted double"](FunctionPrototypeCall(sizeFunction, undefined, chunk));
}

module.exports = { ByteLengthQueuingStrategy, CountQueuingStrategy, convertStrategy, highWaterMarkOf, sizeOf };
