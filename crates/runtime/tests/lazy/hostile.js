
// After tamper.js. WORDS and ORDER are put in by the test. Answers with what the built-in files called of ours, so with nothing.

const BEFORE = new Set(["globalThis", "self", "Infinity", "NaN", "undefined", "escape", "unescape", "eval", "Intl"]);
/** Made by Node's modules, which are app-level code: they call what the app has changed, and break with it. */
const APP_LEVEL = new Set(["Buffer", "process", "setImmediate", "clearImmediate"]);

export default {
  fetch() {
    const { Response } = globalThis;
    const names = Object.getOwnPropertyNames(globalThis).filter((name) => !BEFORE.has(name) && !APP_LEVEL.has(name));
    if (ORDER === "reverse") names.reverse();
    const looks = names.map((name) => () => scope[name]);
    const { length } = names;
    tamperAll(WORDS);
    let text = length < 60 ? "there are fewer globals than there should be" : "";
    for (let i = 0; i < length; i++) {
      const before = count;
      let value;
      try {
        value = touch(looks[i]);
      } catch (error) {
        text += `${names[i]} threw ${error.message}\n`;
      }
      // Its own name is an accessor of ours, if it is one of the language's.
      const own = getOwnPropertyDescriptor(scope, names[i]).get === undefined;
      for (let j = before; own && j < count; j++) text += `${names[i]}: ${hits[j]}\n`;
      if (typeof value !== "function" || !own) continue;
      tamper(value, names[i]);
      if (value.prototype !== undefined) tamper(value.prototype, `${names[i]}.prototype`);
    }
    return new Response(text);
  },
};
