// Changes everything that an app can change: each function of the language becomes one that makes a note of being called, each
// name that occurs in the built-in files (WORDS) is an accessor of Object.prototype, and new elements of arrays are setters'.
// `touch(name)` then looks at a global, and `hits` has the notes of what that called. `tamper(object)` does the same to one.

const { apply, getOwnPropertyDescriptor, ownKeys, getPrototypeOf } = Reflect;
const { defineProperty } = Object;
const scope = globalThis;

/** Own elements, so that writing them calls no setter. */
const hits = new Array(100).fill("");
let count = 0;
let armed = false;

function note(what) {
  if (!armed) return;
  armed = false;
  if (count < hits.length) hits[count++] = `${what} ${new RealError().stack}`;
  armed = true;
}
const RealError = Error;

/** Makes a function that notes, and does what the old one did. */
function noting(label, old) {
  return { __proto__: null, value: function (...args) {
    note(label);
    return new.target === undefined ? apply(old, this, args) : construct(old, args, new.target);
  } }.value;
}
const { construct } = Reflect;

function tamper(object, label) {
  const keys = ownKeys(object);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    const desc = getOwnPropertyDescriptor(object, key);
    const name = `${label}.${typeof key === "symbol" ? key.description : key}`;
    if (!desc.configurable || key === "constructor") continue;
    if (typeof desc.value === "function") {
      defineProperty(object, key, { __proto__: null, value: noting(name, desc.value), writable: true, configurable: true });
    } else if (desc.get !== undefined) {
      const { get, set } = desc;
      defineProperty(object, key, {
        __proto__: null, get: noting(name, get), set: set && noting(name, set), configurable: true,
      });
    } else if (key === "name" || key === "length") {
      const { value } = desc;
      defineProperty(object, key, { __proto__: null, get() { note(name); return value; }, configurable: true });
    }
  }
}

/** All of the language. */
function tamperAll(words) {
  const names = [
    "Object", "Function", "Array", "String", "Number", "Boolean", "Symbol", "BigInt", "RegExp", "Date", "Math", "JSON", "Reflect",
    "Promise", "Map", "Set", "WeakMap", "WeakSet", "WeakRef", "FinalizationRegistry", "ArrayBuffer", "DataView", "Error",
    "TypeError", "RangeError", "Uint8Array", "Uint32Array", "Int32Array", "Float64Array", "Iterator", "Proxy",
  ];
  const all = [];
  for (const name of names) {
    const value = scope[name];
    if (value === undefined) continue;
    all.push([name, value]);
    if (value.prototype !== undefined) all.push([`${name}.prototype`, value.prototype]);
    defineProperty(scope, name, { __proto__: null, get() { note(name); return value; }, configurable: true });
  }
  const generator = (function* () {})();
  const others = [getPrototypeOf(Uint8Array), [].values(), new Map().values(), new Set().values(), "".matchAll(/x/g), generator];
  for (const other of others) {
    const proto = typeof other === "function" ? other : getPrototypeOf(other);
    all.push(["an intrinsic", proto]);
    if (typeof other === "function") all.push(["TypedArray.prototype", other.prototype]);
    else all.push(["an intrinsic's prototype", getPrototypeOf(proto)]);
  }
  const descriptors = [];
  for (const word of words) {
    if (word in Object.prototype) continue;
    descriptors.push([word, {
      __proto__: null, configurable: true, get() { note(`Object.prototype.${word}`); },
      set(value) {
        note(`Object.prototype.${word} =`);
        defineProperty(this, word, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
      },
    }]);
  }
  const elements = [];
  for (let i = 0; i < 64; i++) {
    elements.push([i, { __proto__: null, configurable: true, set(value) {
      note(`Array.prototype[${i}] =`);
      defineProperty(this, i, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
    } }]);
  }
  const { prototype } = Object;
  const { prototype: arrays } = Array;
  for (let i = 0; i < all.length; i++) tamper(all[i][1], all[i][0]);
  for (let i = 0; i < elements.length; i++) defineProperty(arrays, elements[i][0], elements[i][1]);
  for (let i = 0; i < descriptors.length; i++) defineProperty(prototype, descriptors[i][0], descriptors[i][1]);
}

function touch(look) {
  armed = true;
  try {
    return look();
  } finally {
    armed = false;
  }
}
