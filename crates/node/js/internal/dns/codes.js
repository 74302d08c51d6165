"use strict";
// The error codes of dns, by their names there.

const NAMES = [
  "NODATA", "FORMERR", "SERVFAIL", "NOTFOUND", "NOTIMP", "REFUSED", "BADQUERY", "BADNAME", "BADFAMILY", "BADRESP", "CONNREFUSED",
  "TIMEOUT", "EOF", "FILE", "NOMEM", "DESTRUCTION", "BADSTR", "BADFLAGS", "NONAME", "BADHINTS", "NOTINITIALIZED",
  "LOADIPHLPAPI", "ADDRGETNETWORKPARAMS", "CANCELLED",
];

module.exports = Object.fromEntries(NAMES.map((name) => [name, `E${name}`]));
