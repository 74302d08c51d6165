// @ts-check
"use strict";
// The settings of a request that are kept for apps to see but (other than `redirect` and `integrity`) mean nothing to fetch():
// those that it has if nobody says anything else. What does is request_init.js.

/** No RequestInit was given. */
const NO_OPTIONS = { __proto__: null };

/** What most requests have. */
const DEFAULTS = {
  __proto__: null,
  cache: "default",
  credentials: "same-origin",
  integrity: "",
  keepalive: false,
  mode: "cors",
  redirect: "follow",
  referrer: "about:client",
  referrerPolicy: "",
};
const INCOMING = { __proto__: null, ...DEFAULTS, redirect: "manual" };

module.exports = { DEFAULTS, INCOMING, NO_OPTIONS };
