"use strict";
// What node:http's files share and some packages import: methods, and the checks of names and values
// (https://nodejs.org/api/http.html).
//
// Deviation: there are no parsers to take out (`parsers`, `HTTPParser`, `freeParser`): Hearth's gateway parses requests.

const METHODS = [
  "ACL", "BIND", "CHECKOUT", "CONNECT", "COPY", "DELETE", "GET", "HEAD", "LINK", "LOCK", "M-SEARCH", "MERGE", "MKACTIVITY",
  "MKCALENDAR", "MKCOL", "MOVE", "NOTIFY", "OPTIONS", "PATCH", "POST", "PROPFIND", "PROPPATCH", "PURGE", "PUT", "QUERY", "REBIND",
  "REPORT", "SEARCH", "SOURCE", "SUBSCRIBE", "TRACE", "UNBIND", "UNLINK", "UNLOCK", "UNSUBSCRIBE",
];

const TOKEN = /^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/;
const NOT_IN_VALUES = /[^\t\x20-\x7e\x80-\xff]/;

/** Whether it is a token of RFC 9110: a method or a header's name. */
function checkIsHttpToken(text) {
  return TOKEN.test(text);
}

/** Whether it has a character that no header's value may have. */
function checkInvalidHeaderChar(text) {
  return NOT_IN_VALUES.test(text);
}

module.exports = {
  _checkInvalidHeaderChar: checkInvalidHeaderChar,
  _checkIsHttpToken: checkIsHttpToken,
  chunkExpression: /(?:^|\W)chunked(?:$|\W)/i,
  continueExpression: /(?:^|\W)100-continue(?:$|\W)/i,
  CRLF: "\r\n",
  methods: METHODS,
};
