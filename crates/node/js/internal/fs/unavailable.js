"use strict";
// What a read-only folder cannot have.

const { codes } = require("internal/errors");

function unavailable(name) {
  const error = new codes.ERR_FEATURE_UNAVAILABLE_ON_PLATFORM(`fs.${name}`);
  error.message = `fs.${name} is not available in Hearth: the files of a deployed version do not change, and a worker alone writes `
    + "to its /tmp. Deploy a new version instead; `hearth dev` reloads an app when its files change.";
  return error;
}

module.exports = { unavailable };
