// @ts-check
"use strict";
// URLPattern (https://urlpattern.spec.whatwg.org/), with regular expressions of V8's. No ops of its own. Also compareComponent and
// generate, which browsers are about to have. Deviations: none known.

const { ObjectDefineProperty, ObjectPrototypeHasOwnProperty, StringPrototypeStartsWith, TypeError } = require("primordials");
const webidl = require("webidl");
const { registerPlatformClass } = require("platform_classes");
const canon = require("urlpattern/canonicalize");
const { Component, FIXED, FULL, NONE, SEGMENT } = require("urlpattern/parts");
const { parseConstructorString } = require("urlpattern/constructor_string");
const { processInit } = require("urlpattern/init");

const { converters } = webidl;

const NAMES = ["protocol", "username", "password", "hostname", "port", "pathname", "search", "hash"];
const SPECIAL = ["http", "https", "ws", "wss", "ftp", "file"];

const text = (key) => ({ key, converter: converters.USVString });
const convertInit = webidl.createDictionaryConverter("URLPatternInit", [
  text("protocol"), text("username"), text("password"), text("hostname"), text("port"), text("pathname"), text("search"),
  text("hash"), text("baseURL"),
]);
const convertOptions = webidl.createDictionaryConverter("URLPatternOptions", [
  { key: "ignoreCase", converter: converters.boolean, defaultValue: false },
]);
const convertName = webidl.createEnumConverter("URLPatternComponent", NAMES);

/** Text, or a dictionary. */
function convertInput(input, prefix) {
  if (input === undefined || input === null || webidl.isObject(input)) return convertInit(input, prefix, "Argument 1");
  return converters.USVString(input, prefix, "Argument 1");
}

const makeOptions = (delimiter, prefix, ignoreCase) => ({ __proto__: null, delimiter, prefix, ignoreCase });
const PLAIN = makeOptions("", "", false);
const HOST = makeOptions(".", "", false);

function matchesSpecial(component) {
  for (let i = 0; i < SPECIAL.length; i++) if (component.exec(SPECIAL[i]) !== null) return true;
  return false;
}

function compileProtocol(pattern) {
  return new Component(pattern, PLAIN, canon.protocol);
}

function isIpv6(pattern) {
  return pattern.length > 1 && (StringPrototypeStartsWith(pattern, "[") || StringPrototypeStartsWith(pattern, "{[") ||
    StringPrototypeStartsWith(pattern, "\\["));
}

/** The components by name. */
function compile(given, ignoreCase) {
  const init = processInit(given, true, { __proto__: null });
  for (let i = 0; i < NAMES.length; i++) init[NAMES[i]] ??= "*";
  if (init.port !== "" && canon.specialPorts[init.protocol] === init.port) init.port = "";
  const protocol = compileProtocol(init.protocol);
  const isSpecial = matchesSpecial(protocol);
  const encodeHost = isIpv6(init.hostname) ? canon.ipv6 : isSpecial || protocol.pattern === "*" ? canon.domain : canon.hostname;
  const options = makeOptions("", "", ignoreCase);
  return {
    __proto__: null,
    protocol,
    username: new Component(init.username, PLAIN, canon.username),
    password: new Component(init.password, PLAIN, canon.password),
    hostname: new Component(init.hostname, HOST, encodeHost),
    port: new Component(init.port, PLAIN, canon.port),
    pathname: isSpecial
      ? new Component(init.pathname, makeOptions("/", "/", ignoreCase), canon.pathname)
      : new Component(init.pathname, options, canon.opaquePathname),
    search: new Component(init.search, options, canon.search),
    hash: new Component(init.hash, options, canon.hash),
  };
}

/** The components of what is to be matched; undefined where it is no URL. */
function componentsOf(input, baseUrl, prefix) {
  if (typeof input === "string") return canon.parseUrl(input, baseUrl);
  if (baseUrl !== undefined) throw new TypeError(`${prefix}: a base URL goes with a string only`);
  const nothing = {
    __proto__: null, protocol: "", username: "", password: "", hostname: "", port: "", pathname: "", search: "", hash: "",
  };
  try {
    return processInit(input, false, nothing);
  } catch {
    return undefined;
  }
}

/** Not an assignment, which could call a setter. */
function put(object, key, value) {
  ObjectDefineProperty(object, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

/** For apps: an ordinary object of the members that a dictionary has. */
function publicInput(input) {
  if (typeof input === "string") return input;
  const object = {};
  for (const key in input) put(object, key, input[key]);
  return object;
}

function componentResult(component, input, found) {
  const groups = {};
  const { names } = component;
  for (let i = 0; i < names.length; i++) put(groups, names[i], found[i + 1]);
  return { input, groups };
}

// The order of compareComponent: what matches more comes first.
const TYPES = { __proto__: null, [FULL]: 0, [SEGMENT]: 1, regexp: 2, [FIXED]: 3 };
const MODIFIERS = { __proto__: null, "*": 0, "?": 1, "+": 2, [NONE]: 3 };
const EMPTY = { __proto__: null, type: FIXED, value: "", modifier: NONE, name: "", prefix: "", suffix: "" };

const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

function compareParts(a, b) {
  return order(TYPES[a.type], TYPES[b.type]) || order(MODIFIERS[a.modifier], MODIFIERS[b.modifier]) ||
    order(a.prefix, b.prefix) || order(a.value, b.value) || order(a.suffix, b.suffix);
}

function compareComponents(left, right) {
  const a = left.parts, b = right.parts;
  let i = 0;
  for (; i < a.length && i < b.length; i++) {
    const result = compareParts(a[i], b[i]);
    if (result !== 0) return result;
  }
  if (i < a.length) return compareParts(a[i], EMPTY);
  return i < b.length ? compareParts(EMPTY, b[i]) : 0;
}

/** The text that a component has with these groups. */
function generateComponent(component, groups, prefix) {
  const { parts, encode } = component;
  let result = "";
  for (let i = 0; i < parts.length; i++) {
    const { type, value, modifier, name, prefix: before, suffix } = parts[i];
    if (modifier !== NONE || (type !== FIXED && type !== SEGMENT)) {
      throw new TypeError(`${prefix}: '${component.pattern}' has more than names`);
    }
    if (type === FIXED) {
      result += value;
      continue;
    }
    if (groups[name] === undefined) throw new TypeError(`${prefix}: there is no group '${name}'`);
    result += `${before}${encode(groups[name])}${suffix}`;
  }
  if (component.exec(result) === null) throw new TypeError(`${prefix}: '${result}' does not match '${component.pattern}'`);
  return result;
}

const convertRecord = webidl.createRecordConverter(converters.USVString, converters.USVString);

function convertGroups(groups, prefix) {
  const pairs = convertRecord(groups, prefix, "Argument 2");
  const result = { __proto__: null };
  for (let i = 0; i < pairs.length; i++) result[pairs[i][0]] = pairs[i][1];
  return result;
}

/** @type {(value: any) => boolean} */
let isPattern;
const convertPattern = webidl.createInterfaceConverter("URLPattern", (value) => isPattern(value));

class URLPattern {
  #components;

  constructor(input = undefined, baseOrOptions = undefined, options = undefined) {
    const prefix = "Failed to construct 'URLPattern'";
    let given = convertInput(input, prefix);
    let base;
    const isBase = arguments.length > 2 ||
      (baseOrOptions !== undefined && baseOrOptions !== null && !webidl.isObject(baseOrOptions));
    if (isBase) base = converters.USVString(baseOrOptions, prefix, "Argument 2");
    const { ignoreCase } = isBase
      ? convertOptions(options, prefix, "Argument 3")
      : convertOptions(baseOrOptions, prefix, "Argument 2");
    if (typeof given === "string") {
      const whole = given;
      given = parseConstructorString(whole, (pattern) => matchesSpecial(compileProtocol(pattern)));
      if (base !== undefined) given.baseURL = base;
      else if (given.protocol === undefined) throw new TypeError(`${prefix}: '${whole}' is relative, and there is no base URL`);
    } else if (base !== undefined) {
      throw new TypeError(`${prefix}: a base URL goes with a string only`);
    }
    this.#components = compile(given, ignoreCase);
  }

  static compareComponent(component, left, right) {
    const prefix = "Failed to execute 'compareComponent' on 'URLPattern'";
    webidl.requiredArguments(arguments.length, 3, prefix);
    component = convertName(component, prefix, "Argument 1");
    left = convertPattern(left, prefix, "Argument 2");
    right = convertPattern(right, prefix, "Argument 3");
    return compareComponents(left.#components[component], right.#components[component]);
  }

  #find(input, baseUrl, prefix) {
    const parts = componentsOf(input, baseUrl, prefix);
    if (parts === undefined) return null;
    const result = { __proto__: null };
    for (let i = 0; i < NAMES.length; i++) {
      const name = NAMES[i], component = this.#components[name];
      const found = component.exec(parts[name]);
      if (found === null) return null;
      result[name] = { __proto__: null, component, text: parts[name], found };
    }
    return result;
  }

  test(input = undefined, baseURL = undefined) {
    const prefix = "Failed to execute 'test' on 'URLPattern'";
    if (!(#components in this)) throw webidl.brandError(prefix);
    const given = convertInput(input, prefix);
    if (baseURL !== undefined) baseURL = converters.USVString(baseURL, prefix, "Argument 2");
    return this.#find(given, baseURL, prefix) !== null;
  }

  exec(input = undefined, baseURL = undefined) {
    const prefix = "Failed to execute 'exec' on 'URLPattern'";
    if (!(#components in this)) throw webidl.brandError(prefix);
    const given = convertInput(input, prefix);
    if (baseURL !== undefined) baseURL = converters.USVString(baseURL, prefix, "Argument 2");
    const match = this.#find(given, baseURL, prefix);
    if (match === null) return null;
    const result = { inputs: baseURL === undefined ? [publicInput(given)] : [publicInput(given), baseURL] };
    for (let i = 0; i < NAMES.length; i++) {
      const { component, text: input, found } = match[NAMES[i]];
      put(result, NAMES[i], componentResult(component, input, found));
    }
    return result;
  }

  generate(component, groups) {
    const prefix = "Failed to execute 'generate' on 'URLPattern'";
    if (!(#components in this)) throw webidl.brandError(prefix);
    webidl.requiredArguments(arguments.length, 2, prefix);
    component = convertName(component, prefix, "Argument 1");
    return generateComponent(this.#components[component], convertGroups(groups, prefix), prefix);
  }

  get protocol() { return this.#components.protocol.pattern; }
  get username() { return this.#components.username.pattern; }
  get password() { return this.#components.password.pattern; }
  get hostname() { return this.#components.hostname.pattern; }
  get port() { return this.#components.port.pattern; }
  get pathname() { return this.#components.pathname.pattern; }
  get search() { return this.#components.search.pattern; }
  get hash() { return this.#components.hash.pattern; }

  get hasRegExpGroups() {
    for (let i = 0; i < NAMES.length; i++) if (this.#components[NAMES[i]].hasRegExp) return true;
    return false;
  }

  static {
    isPattern = (value) => webidl.isObject(value) && #components in value;
  }
}webidl.configureInterface(URLPattern);
registerPlatformClass(URLPattern, NAMES);

module.exports = { URLPattern };
