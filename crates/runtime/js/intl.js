// @ts-check
"use strict";
// ECMA-402. V8 has all of it; but what its objects hold outside of the heap is counted nowhere, and that is hundreds of times what
// they hold inside. So each that an app makes is told to Rust (src/natives.rs) with a price: what one was measured to take.
// Deviation: the constructors are proxies of V8's, which `toString` and `===` with those of other realms could tell.

const { ObjectDefineProperty, Proxy, ReflectApply, ReflectConstruct } = require("primordials");
const { op_native_made } = require("ops");

/** In kilobytes. */
const prices = {
  __proto__: null,
  Collator: 8, DateTimeFormat: 40, DisplayNames: 16, DurationFormat: 16, ListFormat: 8, Locale: 4, NumberFormat: 16,
  PluralRules: 16, RelativeTimeFormat: 24, Segmenter: 8,
};

function charge(intl) {
  for (const name in prices) {
    if (typeof intl[name] === "function") chargeFor(intl, name, prices[name]);
  }
}

function chargeFor(intl, name, price) {
  const original = intl[name];
  const value = new Proxy(original, {
    __proto__: null,
    construct(target, values, newTarget) {
      const made = ReflectConstruct(target, values, newTarget);
      op_native_made(made, price);
      return made;
    },
    apply(target, self, values) {
      const made = ReflectApply(target, self, values);
      op_native_made(made, price);
      return made;
    },
  });
  ObjectDefineProperty(intl, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
  const { prototype } = original;
  ObjectDefineProperty(prototype, "constructor", { __proto__: null, value, writable: true, enumerable: false, configurable: true });
}

module.exports = { charge };
