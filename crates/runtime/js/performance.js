// @ts-check
"use strict";
// High Resolution Time (https://w3c.github.io/hr-time/#the-performance-interface) over op_now and op_time_origin.
//
// Deviation: no marks and measures, hence no entries and no observers.

const webidl = require("webidl");
const { EventTarget } = require("dom/event");
const { op_now, op_time_origin } = require("ops");

const TOKEN = { __proto__: null };

class Performance extends EventTarget {
  #brand;

  // @ts-ignore: a hidden argument
  constructor(token = undefined) {
    if (token !== TOKEN) webidl.illegalConstructor();
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
}
webidl.configureInterface(Performance);

const performance = new Performance(/** @type {any} */ (TOKEN));

module.exports = { Performance, performance };
