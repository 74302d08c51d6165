// @ts-check
"use strict";
// The attributes of built-in classes that inspect.js shows: their state is private. Each class
// registers them in its own file, when that runs, so that the original getters are kept and never
// those of an app.

const { ArrayFrom, SafeMap, safeGetOwnPropertyDescriptor } = require("primordials");

/** Prototype to { attributes: [key, read, key, read...], pairs }. */
const classes = new SafeMap();

/**
 * @param {any[]} attributes the ones to show: a key of the class itself, or [key, read]; reading must have no effect
 * @param {(object: any) => any[]} [pairs] for what looks like a map: [key, value, key, value, ...]
 */
function registerPlatformClass(Class, attributes, pairs = undefined) {
  const { prototype } = Class;
  const list = ArrayFrom({ __proto__: null, length: attributes.length * 2 }, (_, i) => {
    const attribute = attributes[i >> 1];
    const isRead = i % 2 === 1;
    if (typeof attribute !== "string") return attribute[isRead ? 1 : 0];
    return isRead ? safeGetOwnPropertyDescriptor(prototype, attribute).get : attribute;
  });
  classes.set(prototype, { __proto__: null, attributes: list, pairs });
}

/**
 * What was registered for the class that has this prototype, if it is one of ours. To `read` is to call it with the object as
 * `this`, which getters want, and as its argument.
 */
function platformClassOf(prototype) {
  return classes.get(prototype);
}

module.exports = { registerPlatformClass, platformClassOf };
