// @ts-check
"use strict";
// The routes of an app, made ready for look-up: paths without parameters in a map, the others in a tree by their segments.
// The most specific route wins: an exact path, then segment by segment from the left a literal before a parameter before
// an asterisk, and an asterisk for one segment before one for the rest. No ops.

const {
  ArrayPrototypePop, ArrayPrototypePush, ObjectDefineProperty, ObjectFreeze, SafeMap, decodeURIComponent,
} = require("primordials");
const { ANY, LITERAL, PARAM, parsePattern, refuse, splitPath } = require("routes/pattern");

const NO_PARAMS = ObjectFreeze({ __proto__: null });

class Route {
  pattern;
  names;
  entry;

  constructor(pattern, names, entry) {
    this.pattern = pattern;
    this.names = names;
    this.entry = entry;
  }
}

class Node {
  literals = new SafeMap();
  /** @type {Node | undefined} */
  param = undefined;
  /** @type {Node | undefined} */
  any = undefined;
  /** @type {Route | undefined} For when the path ends here. */
  end = undefined;
  /** @type {Route | undefined} For whatever follows. */
  rest = undefined;
}

/** What a look-up found. */
class Match {
  entry;
  params;

  constructor(entry, params) {
    this.entry = entry;
    this.params = params;
  }
}

class Table {
  /** Path to a Match that serves all requests. */
  exact = new SafeMap();
  root = new Node();
  /** Whether there is anything in the tree. */
  planted = false;

  /** Throws a TypeError that names the route. */
  add(pattern, entry) {
    const { path, segments, names, exact } = parsePattern(pattern);
    if (exact) {
      if (this.exact.has(path)) refuse(`'${pattern}'`, "is there twice, in two ways of writing");
      this.exact.set(path, new Match(entry, NO_PARAMS));
      return;
    }
    this.planted = true;
    let node = this.root;
    const route = new Route(pattern, names, entry);
    for (let i = 0; i < segments.length; i++) {
      const { kind, text } = segments[i];
      if (kind === LITERAL) {
        let next = node.literals.get(text);
        if (next === undefined) node.literals.set(text, next = new Node());
        node = next;
      } else if (kind === PARAM) {
        node = node.param ??= new Node();
      } else if (kind === ANY) {
        node = node.any ??= new Node();
      } else {
        taken(node.rest, pattern);
        node.rest = route;
        return;
      }
    }
    taken(node.end, pattern);
    node.end = route;
  }

  /** @returns {Match | undefined} */
  find(path) {
    const exact = this.exact.get(path);
    if (exact !== undefined || !this.planted) return exact;
    return descend(this.root, splitPath(path), 0, []);
  }
}

function taken(route, pattern) {
  if (route !== undefined) refuse(`'${pattern}'`, `matches the same paths as '${route.pattern}'`);
}

/** Tries the children of a node, the most specific first; `found` has the parameters so far. */
function descend(node, parts, at, found) {
  if (at === parts.length) return node.end === undefined ? undefined : matchOf(node.end, found);
  const part = parts[at];
  const literal = node.literals.get(part);
  if (literal !== undefined) {
    const match = descend(literal, parts, at + 1, found);
    if (match !== undefined) return match;
  }
  if (part !== "") {
    if (node.param !== undefined) {
      ArrayPrototypePush(found, part);
      const match = descend(node.param, parts, at + 1, found);
      if (match !== undefined) return match;
      ArrayPrototypePop(found);
    }
    if (node.any !== undefined) {
      const match = descend(node.any, parts, at + 1, found);
      if (match !== undefined) return match;
    }
  }
  return node.rest === undefined ? undefined : matchOf(node.rest, found);
}

/** A parameter that is no percent-encoded UTF-8 matches nothing. */
function matchOf(route, found) {
  const { names } = route;
  if (names.length === 0) return new Match(route.entry, NO_PARAMS);
  const params = { __proto__: null };
  try {
    for (let i = 0; i < names.length; i++) {
      const value = decodeURIComponent(found[i]);
      ObjectDefineProperty(params, names[i], { __proto__: null, value, enumerable: true });
    }
  } catch {
    return undefined;
  }
  return new Match(route.entry, ObjectFreeze(params));
}

module.exports = { Table };
