// @ts-check
"use strict";
// Which attributes of our own classes inspect.js shows: their state is private. Each class says so in its own file, when
// that runs, so that what is kept are its own getters and never those that an app has put in their place.

const { ArrayFrom, FunctionPrototypeCall, SafeMap, safeGetOwnPropertyDescriptor } = require("primordials");

/** Prototype to { attributes: [key, read]..., pairs }. */
const classes = new SafeMap();

/**
 * @param {any[]} attributes the ones to show: a key of the class itself, or [key, read]; reading must have no effect
 * @param {(object: any) => any[]} [pairs] for what looks like a map: [key, value, key, value, ...]
 */
function registerPlatformClass(Class, attributes, pairs = undefined) {
  const { prototype } = Class;
  const list = ArrayFrom({ __proto__: null, length: attributes.length }, (_, i) => {
    const key = attributes[i];
    if (typeof key !== "string") return key;
    const { get } = safeGetOwnPropertyDescriptor(prototype, key);
    return [key, (object) => FunctionPrototypeCall(get, object)];
  });
  classes.set(prototype, { __proto__: null, attributes: list, pairs });
}

/** What was registered for the class that has this prototype, if it is one of ours. */
function platformClassOf(prototype) {
  return classes.get(prototype);
}

module.exports = { registerPlatformClass, platformClassOf };
