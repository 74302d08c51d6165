"use strict";
// Histograms of node:perf_hooks (https://nodejs.org/api/perf_hooks.html#class-histogram): counts by value, where values above
// 2048 keep their 11 highest bits, so that memory is bounded.

const { ERR_INVALID_ARG_TYPE, ERR_OUT_OF_RANGE } = require("internal/errors");
const { validateInteger, validateNumber, validateObject } = require("internal/validators");

const bucketOf = (value) => {
  const unit = 2 ** Math.max(0, Math.floor(Math.log2(value)) - 10);
  return Math.floor(value / unit) * unit;
};

class RecordableHistogram {
  #counts = new Map();
  #count = 0;
  #exceeds = 0;
  #min = Infinity;
  #max = 0;
  #lowest;
  #highest;
  #last;

  constructor(lowest, highest) {
    this.#lowest = lowest;
    this.#highest = highest;
  }

  record(value) {
    if (typeof value === "bigint") value = Number(value);
    if (typeof value !== "number" || !Number.isInteger(value)) throw new ERR_INVALID_ARG_TYPE("val", ["integer", "bigint"], value);
    if (value < 1) throw new ERR_OUT_OF_RANGE("val", `>= 1 && <= ${Number.MAX_SAFE_INTEGER}`, value);
    this.#add(value, 1);
  }

  recordDelta() {
    const now = performance.now();
    if (this.#last !== undefined) this.#add(Math.max(1, Math.round((now - this.#last) * 1e6)), 1);
    this.#last = now;
  }

  #add(value, count) {
    if (value > this.#highest) {
      this.#exceeds += count;
      return;
    }
    const bucket = bucketOf(Math.max(value, this.#lowest));
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count);
    this.#count += count;
    this.#min = Math.min(this.#min, value);
    this.#max = Math.max(this.#max, value);
  }

  add(other) {
    if (!(typeof other === "object" && other !== null && #counts in other)) {
      throw new ERR_INVALID_ARG_TYPE("other", "RecordableHistogram", other);
    }
    for (const [value, count] of other.#counts) this.#add(value, count);
    this.#exceeds += other.#exceeds;
    this.#min = Math.min(this.#min, other.#min);
    this.#max = Math.max(this.#max, other.#max);
  }

  reset() {
    this.#counts.clear();
    this.#count = this.#exceeds = this.#max = 0;
    this.#min = Infinity;
    this.#last = undefined;
  }

  get count() { return this.#count; }
  get countBigInt() { return BigInt(this.#count); }
  get exceeds() { return this.#exceeds; }
  get exceedsBigInt() { return BigInt(this.#exceeds); }
  get min() { return this.#count === 0 ? 9223372036854776000 : this.#min; }
  get minBigInt() { return this.#count === 0 ? 9223372036854775807n : BigInt(this.#min); }
  get max() { return this.#max; }
  get maxBigInt() { return BigInt(this.#max); }

  get mean() {
    let sum = 0;
    for (const [value, count] of this.#counts) sum += value * count;
    return sum / this.#count;
  }

  get stddev() {
    const { mean } = this;
    let sum = 0;
    for (const [value, count] of this.#counts) sum += (value - mean) ** 2 * count;
    return Math.sqrt(sum / this.#count);
  }

  percentile(percentile) {
    validateNumber(percentile, "percentile");
    if (!(percentile > 0 && percentile <= 100)) throw new ERR_OUT_OF_RANGE("percentile", "> 0 && <= 100", percentile);
    const wanted = Math.max(1, Math.ceil((percentile / 100) * this.#count));
    let seen = 0;
    for (const value of [...this.#counts.keys()].sort((left, right) => left - right)) {
      seen += this.#counts.get(value);
      if (seen >= wanted) return value;
    }
    return 0;
  }

  percentileBigInt(percentile) { return BigInt(this.percentile(percentile)); }

  get percentiles() {
    const result = new Map();
    for (const percentile of [50, 75, 87.5, 93.75, 96.875, 98.4375, 99.21875, 100]) {
      result.set(percentile, this.percentile(percentile));
    }
    return result;
  }

  toJSON() {
    const { count, min, max, mean, exceeds, stddev, percentiles } = this;
    return { count, min, max, mean, exceeds, stddev, percentiles: Object.fromEntries(percentiles) };
  }
}

function createHistogram(options = {}) {
  validateObject(options, "options");
  const { lowest = 1, highest = Number.MAX_SAFE_INTEGER, figures = 3 } = options;
  if (typeof lowest !== "bigint") validateInteger(lowest, "options.lowest", 1);
  if (typeof highest !== "bigint") validateInteger(highest, "options.highest", 2 * Number(lowest));
  validateInteger(figures, "options.figures", 1, 5);
  return new RecordableHistogram(Number(lowest), Number(highest));
}

module.exports = { createHistogram };
