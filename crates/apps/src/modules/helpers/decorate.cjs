// Legacy decorators as TypeScript applies them (`experimentalDecorators`): last to first, a result replaces.
"use strict";
module.exports = function decorate(decorators, target, key, descriptor) {
  const member = arguments.length > 2;
  let result = !member ? target : descriptor === null ? Object.getOwnPropertyDescriptor(target, key) : descriptor;
  for (let i = decorators.length - 1; i >= 0; i--) {
    const decorator = decorators[i];
    if (!decorator) continue;
    const given = !member
      ? decorator(result)
      : arguments.length > 3
        ? decorator(target, key, result)
        : decorator(target, key);
    result = given || result;
  }
  if (arguments.length > 3 && result) Object.defineProperty(target, key, result);
  return result;
};
