// @ts-check
"use strict";
// Navigator (https://html.spec.whatwg.org/multipage/workers.html#the-workernavigator-object), as far as a server has one. No ops.
//
// Deviations: the interface is called Navigator, as in other server runtimes, and has what packages ask of it: no `product`, no
// `onLine`. hardwareConcurrency is 1: an app has one thread, however many the machine has.

const { ObjectFreeze } = require("primordials");
const webidl = require("webidl");
const { registerPlatformClass } = require("platform_classes");

const TOKEN = { __proto__: null };
const LANGUAGE = "en-US";
const LANGUAGES = ObjectFreeze([LANGUAGE]);

class Navigator {
  #brand;

  constructor() {
    if (arguments[0] !== TOKEN) webidl.illegalConstructor();
  }

  get userAgent() {
    this.#brand;
    return "Hearth";
  }

  get platform() {
    this.#brand;
    return "linux";
  }

  get hardwareConcurrency() {
    this.#brand;
    return 1;
  }

  get language() {
    this.#brand;
    return LANGUAGE;
  }

  get languages() {
    this.#brand;
    return LANGUAGES;
  }
}
webidl.configureInterface(Navigator);
registerPlatformClass(Navigator, ["userAgent", "platform", "hardwareConcurrency", "language", "languages"]);

const navigator = new (/** @type {any} */ (Navigator))(TOKEN);

module.exports = { Navigator, navigator };
