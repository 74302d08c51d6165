// @ts-check
"use strict";
// Requests that can still be aborted: not answered yet, or answered with a body that goes on. Most are over before the next one
// comes, so the newest is not in the map, which V8 makes anew whenever its last entry goes.

const { SafeMap } = require("primordials");

/** Id to Request, without the newest. */
const others = new SafeMap();
/** 0: none. */
let newestId = 0;
/** @type {any} */
let newest = undefined;

function addPending(id, request) {
  if (id === newestId || others.has(id)) return;
  if (newestId !== 0) others.set(newestId, newest);
  newestId = id;
  newest = request;
}

/** The request, undefined if it is over. */
function pendingRequest(id) {
  return id === newestId ? newest : others.get(id);
}

function dropPending(id) {
  if (id !== newestId) {
    others.delete(id);
    return;
  }
  newestId = 0;
  newest = undefined;
}

module.exports = { addPending, pendingRequest, dropPending };
