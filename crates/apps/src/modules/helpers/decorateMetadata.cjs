// Design-time types for `reflect-metadata`, where the app has loaded it.
"use strict";
module.exports = function decorateMetadata(key, value) {
  if (typeof Reflect === "object" && typeof Reflect.metadata === "function") return Reflect.metadata(key, value);
};
