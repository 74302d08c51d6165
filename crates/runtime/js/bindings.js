// @ts-check
"use strict";
// Bindings: objects in `env` whose methods are the embedding program's. Arguments and answers go over as JSON.

const { JSONParse, JSONStringify, ObjectFreeze } = require("primordials");
const { currentRequest } = require("request_scope");
const { op_binding_call } = require("ops");

/** Puts the bindings into `values`. `list` is names and their methods in turn. */
function addBindings(values, list) {
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i], methods = list[i + 1];
    const binding = { __proto__: null };
    for (let j = 0; j < methods.length; j++) binding[methods[j]] = methodOf(name, methods[j]);
    values[name] = ObjectFreeze(binding);
  }
}

function methodOf(binding, method) {
  return async (...args) => {
    const answer = await op_binding_call(currentRequest(), binding, method, JSONStringify(args));
    return answer === "" ? undefined : JSONParse(answer);
  };
}

module.exports = { addBindings };
