// @ts-check
"use strict";
// The settings of a request that apps can read but that (other than `redirect` and `integrity`)
// have no effect on fetch(): their defaults. request_init.js sets others.

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
