"use strict";
// For modules that cannot work here: they can be imported, and what is used of them throws.

/** A function or class that throws: `what` is its name, as `child_process.spawn()`. */
function refuse(what, remedy) {
  return function () {
    const error = new Error(`${what} is not available in Hearth: ${remedy}`);
    error.code = "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM";
    throw error;
  };
}

/** The exports of a module of which nothing works. */
function unavailable(name, functions, remedy) {
  const made = {};
  for (const member of functions) {
    const refusal = refuse(`${name}.${member}`, remedy);
    Object.defineProperty(refusal, "name", { value: member, configurable: true });
    made[member] = refusal;
  }
  return made;
}

module.exports = { refuse, unavailable };
