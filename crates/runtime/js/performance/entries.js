// @ts-check
"use strict";
// PerformanceEntry (https://w3c.github.io/performance-timeline/), PerformanceMark and PerformanceMeasure
// (https://w3c.github.io/user-timing/), and the list of a context's entries, which performance.clearMarks and the like shorten.
//
// Deviations: an entry has no id and no navigationId; the list belongs to the worker, so it has the marks of all requests,
// and at most 10,000 entries: older ones are dropped.

const { ArrayPrototypePush, TypeError } = require("primordials");
const webidl = require("webidl");
const { registerPlatformClass } = require("platform_classes");
const { structuredClone } = require("structured_clone");
const { op_now } = require("ops");

const { converters } = webidl;
/** First argument of constructors that apps cannot call. */
const INTERNAL = { __proto__: null };

/** @type {any[]} In the order in which they were made. */
let timeline = [];

let about;

class PerformanceEntry {
  #name;
  #type;
  #start;
  #duration;

  constructor() {
    if (arguments[0] !== INTERNAL) webidl.illegalConstructor();
    this.#name = arguments[1];
    this.#type = arguments[2];
    this.#start = arguments[3];
    this.#duration = arguments[4];
  }

  get name() { return this.#name; }
  get entryType() { return this.#type; }
  get startTime() { return this.#start; }
  get duration() { return this.#duration; }

  toJSON() {
    return { name: this.#name, entryType: this.#type, startTime: this.#start, duration: this.#duration };
  }

  static {
    about = (entry) => ({ __proto__: null, name: entry.#name, type: entry.#type, start: entry.#start, duration: entry.#duration });
  }
}
webidl.configureInterface(PerformanceEntry);
registerPlatformClass(PerformanceEntry, ["name", "entryType", "startTime", "duration"]);

const markOptions = [
  { key: "detail", converter: converters.any },
  { key: "startTime", converter: converters.double },
];
const convertMarkOptions = webidl.createDictionaryConverter("PerformanceMarkOptions", markOptions);

function cloned(detail) {
  return detail === undefined || detail === null ? null : structuredClone(detail);
}

/** The members of an entry that has a detail. */
function withDetail(entry, detail) {
  const { name, type, start, duration } = about(entry);
  return { name, entryType: type, startTime: start, duration, detail };
}

class PerformanceMark extends PerformanceEntry {
  #detail;

  constructor(markName, markOptions = undefined) {
    const prefix = "Failed to construct 'PerformanceMark'";
    webidl.requiredArguments(arguments.length, 1, prefix);
    markName = converters.DOMString(markName, prefix, "Argument 1");
    const { detail, startTime } = convertMarkOptions(markOptions, prefix, "Argument 2");
    if (startTime < 0) throw new TypeError(`${prefix}: startTime is negative`);
    // @ts-ignore: hidden arguments
    super(INTERNAL, markName, "mark", startTime === undefined ? op_now() : startTime, 0);
    this.#detail = cloned(detail);
  }

  get detail() { return this.#detail; }

  toJSON() {
    return withDetail(this, this.#detail);
  }
}
webidl.configureInterface(PerformanceMark);
registerPlatformClass(PerformanceMark, ["detail"]);

class PerformanceMeasure extends PerformanceEntry {
  #detail;

  constructor() {
    if (arguments[0] !== INTERNAL) webidl.illegalConstructor();
    // @ts-ignore: hidden arguments
    super(INTERNAL, arguments[1], "measure", arguments[2], arguments[3]);
    this.#detail = cloned(arguments[4]);
  }

  get detail() { return this.#detail; }

  toJSON() {
    return withDetail(this, this.#detail);
  }
}
webidl.configureInterface(PerformanceMeasure);
registerPlatformClass(PerformanceMeasure, ["detail"]);

function createMeasure(name, start, end, detail) {
  return new (/** @type {any} */ (PerformanceMeasure))(INTERNAL, name, start, end - start, detail);
}

/** The timeline is the worker's, so marks that no request clears would pile up: beyond these the older half goes. */
const MAX_ENTRIES = 10_000;

function addEntry(entry) {
  if (timeline.length >= MAX_ENTRIES) {
    const newer = [];
    for (let i = MAX_ENTRIES / 2; i < timeline.length; i++) ArrayPrototypePush(newer, timeline[i]);
    timeline = newer;
  }
  ArrayPrototypePush(timeline, entry);
}

/** Removes the entries of a type, those of one name only if there is one. */
function clearEntries(type, name) {
  const kept = [];
  for (let i = 0; i < timeline.length; i++) {
    const entry = about(timeline[i]);
    if (entry.type !== type || (name !== undefined && entry.name !== name)) ArrayPrototypePush(kept, timeline[i]);
  }
  timeline = kept;
}

/** When the newest mark of this name was; undefined if there is none. */
function lastMark(name) {
  for (let i = timeline.length - 1; i >= 0; i--) {
    const entry = about(timeline[i]);
    if (entry.type === "mark" && entry.name === name) return entry.start;
  }
  return undefined;
}

/** In the order of their start, each after those that were made before it. `name` and `type` may be undefined. */
function filterEntries(list, name, type) {
  const found = [];
  for (let i = 0; i < list.length; i++) {
    const entry = about(list[i]);
    if ((name !== undefined && entry.name !== name) || (type !== undefined && entry.type !== type)) continue;
    // Entries come almost sorted.
    ArrayPrototypePush(found, list[i]);
    for (let at = found.length - 1; at > 0 && about(found[at - 1]).start > entry.start; at--) {
      found[at] = found[at - 1];
      found[at - 1] = list[i];
    }
  }
  return found;
}

function timelineEntries(name, type) {
  return filterEntries(timeline, name, type);
}

module.exports = {
  PerformanceEntry, PerformanceMark, PerformanceMeasure, about, addEntry, clearEntries, createMeasure, filterEntries, lastMark,
  timelineEntries,
};
