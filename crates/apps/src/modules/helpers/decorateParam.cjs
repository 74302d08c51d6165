// A parameter decorator as one that can stand in a list with the others.
"use strict";
module.exports = function decorateParam(index, decorator) {
  return function (target, key) {
    decorator(target, key, index);
  };
};
