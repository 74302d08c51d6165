"use strict";
// node:readline/promises (https://nodejs.org/api/readline.html#promises-api): an interface whose questions are promises.

const readline = require("readline");
const { unavailable } = require("internal/unavailable");

const ask = readline.Interface.prototype.question[Symbol.for("nodejs.util.promisify.custom")];

class Interface extends readline.Interface {
  question(query, options = {}) {
    return ask.call({ question: super.question.bind(this) }, query, options);
  }
}

module.exports = {
  Interface,
  createInterface: (input, output) => new Interface(input, output),
  ...unavailable("readline/promises", ["Readline"], "nothing is a terminal"),
};
