// An app that takes the functions below node:crypto for itself and calls them with anything: it reaches no key but its own,
// and breaks nothing.
import { equal, ok, test } from "./harness.js";
export { default } from "./harness.js";

const NAMES = [
  "runSync", "info", "createHash", "copyHash", "createHmac", "createCipher", "update", "call", "secretKey", "secretBytes",
  "rawPublic", "readKey", "keyFromJwk", "keyToJwk", "writeKey", "describe", "equalKeys", "publicHalf", "toCryptoKey",
  "certificate", "random",
];
const stolen = { __proto__: null };

test("the functions can be taken", async () => {
  for (const name of NAMES) {
    Object.defineProperty(Object.prototype, name, {
      configurable: true,
      set(value) {
        stolen[name] ??= value;
        Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
      },
    });
  }
  try {
    await import("node:crypto");
  } finally {
    for (const name of NAMES) delete Object.prototype[name];
  }
  ok(NAMES.every((name) => typeof stolen[name] === "function"));
});

const GARBAGE = [
  undefined, null, true, 0, 1, -1, 2 ** 32, 2 ** 53, NaN, Infinity, 1n, "", "sha256", "aes-128-gcm", "sign", "\0", Symbol.iterator,
  {}, [], [1], [[]], () => 1, new Uint8Array(0), new Uint8Array(64), new ArrayBuffer(8), new DataView(new ArrayBuffer(3)),
  { valueOf() { throw new Error("asked"); } }, new Proxy({}, {}), { length: 2 ** 32 - 1 },
];

test("garbage is an error, or nothing", () => {
  let calls = 0;
  for (const name of NAMES) {
    for (const one of GARBAGE) {
      for (const other of GARBAGE) {
        for (const more of [[], [new Uint8Array(16), new Uint8Array(12), 16], [[]], ["x", {}, 5, null]]) {
          calls++;
          try {
            stolen[name](one, other, ...more);
          } catch {
            // As it should be.
          }
        }
      }
    }
  }
  ok(calls > 10_000);
});

test("keys are not named by numbers", () => {
  const own = stolen.secretKey(new Uint8Array([1, 2, 3]));
  equal(Object.getOwnPropertyNames(own).length, 0);
  equal(Object.getOwnPropertySymbols(own).length, 0);
  let read = 0;
  for (let handle = 0; handle < 300; handle++) {
    for (const attempt of [
      () => stolen.secretBytes(handle), () => stolen.describe(handle), () => stolen.keyToJwk({ handle }),
      () => stolen.writeKey(true, handle, true, "pkcs8"), () => stolen.runSync("sign", [handle], []),
      () => stolen.runSync("agree", [handle, own], []), () => stolen.createHmac("sha256", handle),
      () => stolen.secretBytes(Object.create(own)), () => stolen.update(handle, new Uint8Array(1)),
      () => stolen.call(handle, "finish"), () => stolen.runSync("hmac", [], [handle, "SHA-256", new Uint8Array(1)]),
      () => stolen.runSync("node-hash", [handle], []), () => stolen.certificate("signed-by", new Uint8Array(1), handle),
    ]) {
      try {
        attempt();
        read++;
      } catch {
        // As it should be.
      }
    }
  }
  equal(read, 0);
});

test("other operations of the natives are not reached", () => {
  const own = stolen.secretKey(new Uint8Array(16));
  for (const name of ["hmac", "gcm-encrypt", "generate-rsa", "__proto__", "constructor", "hasOwnProperty", "toString"]) {
    let error;
    try {
      stolen.runSync(name, [own], [new Uint8Array(1), "SHA-256"]);
    } catch (thrown) {
      error = thrown;
    }
    equal(error?.message, "there is no such operation");
  }
});

test("values with getters change nothing between a check and its use", () => {
  const values = ["sha256", new Uint8Array(4), undefined];
  let asked = 0;
  Object.defineProperty(values, 1, { get: () => (asked++ === 0 ? new Uint8Array(4) : 5) });
  equal(stolen.runSync("hash", [], values).byteLength, 32);
  equal(asked, 1);
});
