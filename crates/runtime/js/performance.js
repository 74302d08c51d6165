// @ts-check
"use strict";
// Performance: High Resolution Time (https://w3c.github.io/hr-time/#the-performance-interface) over op_now and op_time_origin,
// with the methods of User Timing (https://w3c.github.io/user-timing/) and the Performance Timeline.
//
// Deviation: there are marks and measures only, so the buffer of resource timings is always empty.

const { TypeError } = require("primordials");
const webidl = require("webidl");
const { EventTarget } = require("dom/event");
const { DOMException } = require("dom/exception");
const { PerformanceMark, addEntry, clearEntries, createMeasure, lastMark, timelineEntries } = require("performance/entries");
const { op_now, op_time_origin } = require("ops");

const { converters } = webidl;
const observers = lazy("performance/observer");

const TOKEN = { __proto__: null };

/** A time, or the name of a mark. */
function convertMoment(value, prefix, context) {
  return typeof value === "number" ? converters.double(value, prefix, context) : converters.DOMString(value, prefix, context);
}

const convertMeasureOptions = webidl.createDictionaryConverter("PerformanceMeasureOptions", [
  { key: "detail", converter: converters.any },
  { key: "start", converter: convertMoment },
  { key: "duration", converter: converters.double },
  { key: "end", converter: convertMoment },
]);

function timeOf(moment, prefix) {
  if (typeof moment === "number") {
    if (moment < 0) throw new TypeError(`${prefix}: a time is negative`);
    return moment;
  }
  const time = lastMark(moment);
  if (time === undefined) throw new DOMException(`${prefix}: there is no mark '${moment}'`, "SyntaxError");
  return time;
}

/** When a measure with options begins and ends. */
function bounds({ start, duration, end }, endMark, prefix) {
  if (endMark !== undefined) end = endMark;
  let to;
  if (end !== undefined) to = timeOf(end, prefix);
  else if (start !== undefined && duration !== undefined) to = timeOf(start, prefix) + timeOf(duration, prefix);
  else to = op_now();
  let from = 0;
  if (start !== undefined) from = timeOf(start, prefix);
  else if (duration !== undefined && end !== undefined) from = to - timeOf(duration, prefix);
  return { __proto__: null, from, to };
}

function keep(entry) {
  addEntry(entry);
  observers.exports?.notifyObservers(entry);
  return entry;
}

class Performance extends EventTarget {
  #brand;

  // @ts-ignore: a hidden argument
  constructor() {
    if (arguments[0] !== TOKEN) webidl.illegalConstructor();
    super();
  }

  now() {
    if (!(#brand in this)) throw webidl.brandError("Failed to execute 'now' on 'Performance'");
    return op_now();
  }

  get timeOrigin() {
    if (!(#brand in this)) throw webidl.brandError("Failed to read 'timeOrigin' of 'Performance'");
    return op_time_origin();
  }

  toJSON() {
    if (!(#brand in this)) throw webidl.brandError("Failed to execute 'toJSON' on 'Performance'");
    return { timeOrigin: op_time_origin() };
  }

  mark(markName, markOptions = undefined) {
    const prefix = "Failed to execute 'mark' on 'Performance'";
    if (!(#brand in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    return keep(new PerformanceMark(markName, markOptions));
  }

  measure(measureName, startOrMeasureOptions = undefined, endMark = undefined) {
    const prefix = "Failed to execute 'measure' on 'Performance'";
    if (!(#brand in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    measureName = converters.DOMString(measureName, prefix, "Argument 1");
    const hasOptions = webidl.isObject(startOrMeasureOptions);
    let options = { __proto__: null };
    if (hasOptions) options = convertMeasureOptions(startOrMeasureOptions, prefix, "Argument 2");
    else if (startOrMeasureOptions !== undefined && startOrMeasureOptions !== null) {
      options = { __proto__: null, start: converters.DOMString(startOrMeasureOptions, prefix, "Argument 2") };
    }
    if (endMark !== undefined) endMark = converters.DOMString(endMark, prefix, "Argument 3");
    const { start, duration, end, detail } = /** @type {any} */ (options);
    const isGiven = start !== undefined || duration !== undefined || end !== undefined || detail !== undefined;
    if (hasOptions && isGiven) {
      if (endMark !== undefined) throw new TypeError(`${prefix}: an end mark does not go with options`);
      if (start === undefined && end === undefined) throw new TypeError(`${prefix}: the options have neither start nor end`);
      if (start !== undefined && duration !== undefined && end !== undefined) {
        throw new TypeError(`${prefix}: the options have start, duration and end: one is too many`);
      }
    }
    const { from, to } = bounds(/** @type {any} */ (options), endMark, prefix);
    return keep(createMeasure(measureName, from, to, detail));
  }

  clearMarks(markName = undefined) {
    const prefix = "Failed to execute 'clearMarks' on 'Performance'";
    if (!(#brand in this)) throw webidl.brandError(prefix);
    clearEntries("mark", markName === undefined ? undefined : converters.DOMString(markName, prefix, "Argument 1"));
  }

  clearMeasures(measureName = undefined) {
    const prefix = "Failed to execute 'clearMeasures' on 'Performance'";
    if (!(#brand in this)) throw webidl.brandError(prefix);
    clearEntries("measure", measureName === undefined ? undefined : converters.DOMString(measureName, prefix, "Argument 1"));
  }

  clearResourceTimings() {
    if (!(#brand in this)) throw webidl.brandError("Failed to execute 'clearResourceTimings' on 'Performance'");
  }

  setResourceTimingBufferSize(maxSize) {
    const prefix = "Failed to execute 'setResourceTimingBufferSize' on 'Performance'";
    if (!(#brand in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    converters["unsigned long"](maxSize, prefix, "Argument 1");
  }

  getEntries() {
    if (!(#brand in this)) throw webidl.brandError("Failed to execute 'getEntries' on 'Performance'");
    return timelineEntries(undefined, undefined);
  }

  getEntriesByType(type) {
    const prefix = "Failed to execute 'getEntriesByType' on 'Performance'";
    if (!(#brand in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    return timelineEntries(undefined, converters.DOMString(type, prefix, "Argument 1"));
  }

  getEntriesByName(name, type = undefined) {
    const prefix = "Failed to execute 'getEntriesByName' on 'Performance'";
    if (!(#brand in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 1, prefix);
    name = converters.DOMString(name, prefix, "Argument 1");
    return timelineEntries(name, type === undefined ? undefined : converters.DOMString(type, prefix, "Argument 2"));
  }
}
webidl.configureInterface(Performance);

const performance = new (/** @type {any} */ (Performance))(TOKEN);

module.exports = { Performance, performance };
