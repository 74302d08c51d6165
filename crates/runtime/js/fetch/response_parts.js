// @ts-check
"use strict";
// Attributes of responses for other built-in files, by the getters that Response had before an app could change them. No ops.

const { Error, FunctionPrototypeCall } = require("primordials");
const { platformClassOf } = require("platform_classes");
const { Response } = require("fetch/response");

function reader(name) {
  const { attributes } = platformClassOf(Response.prototype);
  for (let i = 0; i < attributes.length; i += 2) if (attributes[i] === name) return attributes[i + 1];
  throw new Error(`Response registers no ${name}`);
}

const status = reader("status"), statusText = reader("statusText"), url = reader("url");

const statusOf = (response) => FunctionPrototypeCall(status, response);
const statusTextOf = (response) => FunctionPrototypeCall(statusText, response);
const urlOf = (response) => FunctionPrototypeCall(url, response);

module.exports = { statusOf, statusTextOf, urlOf };
