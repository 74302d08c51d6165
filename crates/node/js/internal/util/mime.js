"use strict";
// util.MIMEType and util.MIMEParams (https://nodejs.org/api/util.html#class-utilmimetype), after the MIME Sniffing standard.

const { ERR_INVALID_MIME_SYNTAX } = require("internal/errors");

const NOT_TOKEN = /[^!#$%&'*+\-.^_`|~A-Za-z0-9]/;
const NOT_QUOTED = /[^\t\u0020-~\u0080-\u00FF]/;

function checkToken(text, production, whole, allowEmpty = false) {
  const at = text.search(NOT_TOKEN);
  if ((text === "" && !allowEmpty) || at >= 0) throw new ERR_INVALID_MIME_SYNTAX(production, whole, at);
}

function trimHttp(text) {
  return text.replace(/^[\r\n\t ]+|[\r\n\t ]+$/g, "");
}

class MIMEParams {
  #data = new Map();

  delete(name) { this.#data.delete(`${name}`); }
  get(name) { return this.#data.get(`${name}`) ?? null; }
  has(name) { return this.#data.has(`${name}`); }
  set(name, value) {
    name = `${name}`;
    value = `${value}`;
    checkToken(name, "parameter name", name);
    const at = value.search(NOT_QUOTED);
    if (at >= 0) throw new ERR_INVALID_MIME_SYNTAX("parameter value", value, at);
    this.#data.set(name, value);
  }
  *entries() { yield* this.#data.entries(); }
  *keys() { yield* this.#data.keys(); }
  *values() { yield* this.#data.values(); }
  [Symbol.iterator]() { return this.entries(); }

  toString() {
    return Array.from(this.#data, ([name, value]) => {
      const quoted = value === "" || NOT_TOKEN.test(value) ? `"${value.replace(/["\\]/g, "\\$&")}"` : value;
      return `${name}=${quoted}`;
    }).join(";");
  }
  toJSON() { return this.toString(); }

  /** Takes the parameters of a text; wrong ones are left out. */
  static parse(params, text) {
    let rest = text;
    while (rest !== "") {
      rest = rest.replace(/^[\r\n\t ]+/, "");
      const end = rest.search(/[;=]/);
      const name = (end < 0 ? rest : rest.slice(0, end)).toLowerCase();
      rest = end < 0 ? "" : rest.slice(end);
      if (!rest.startsWith("=")) {
        rest = rest.slice(1);
        continue;
      }
      let value;
      rest = rest.slice(1);
      if (rest.startsWith('"')) {
        const quoted = /^"((?:[^"\\]|\\[^]?)*)"?/.exec(rest);
        value = quoted[1].replace(/\\([^])/g, "$1");
        rest = rest.slice(quoted[0].length).replace(/^[^;]*;?/, "");
      } else {
        const next = rest.indexOf(";");
        value = (next < 0 ? rest : rest.slice(0, next)).replace(/[\r\n\t ]+$/, "");
        rest = next < 0 ? "" : rest.slice(next + 1);
        if (value === "") continue;
      }
      if (name !== "" && !NOT_TOKEN.test(name) && !NOT_QUOTED.test(value) && !params.#data.has(name)) params.#data.set(name, value);
    }
    return params;
  }
}
const parseParams = MIMEParams.parse;
delete MIMEParams.parse;

class MIMEType {
  #type;
  #subtype;
  #params = new MIMEParams();

  constructor(input) {
    const text = trimHttp(`${input}`);
    const slash = text.indexOf("/");
    if (slash < 0) throw new ERR_INVALID_MIME_SYNTAX("type", text, -1);
    const type = text.slice(0, slash);
    checkToken(type, "type", text);
    const semicolon = text.indexOf(";", slash);
    const subtype = trimHttp(text.slice(slash + 1, semicolon < 0 ? undefined : semicolon));
    checkToken(subtype, "subtype", text);
    this.#type = type.toLowerCase();
    this.#subtype = subtype.toLowerCase();
    if (semicolon >= 0) parseParams(this.#params, text.slice(semicolon + 1));
  }

  get type() { return this.#type; }
  set type(value) {
    value = `${value}`;
    checkToken(value, "type", value);
    this.#type = value.toLowerCase();
  }
  get subtype() { return this.#subtype; }
  set subtype(value) {
    value = `${value}`;
    checkToken(value, "subtype", value);
    this.#subtype = value.toLowerCase();
  }
  get essence() { return `${this.#type}/${this.#subtype}`; }
  get params() { return this.#params; }
  toString() {
    const params = this.#params.toString();
    return params === "" ? this.essence : `${this.essence};${params}`;
  }
  toJSON() { return this.toString(); }
}

module.exports = { MIMEParams, MIMEType };
