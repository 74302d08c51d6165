'use strict';
// Stands in for the suite's own test/common/index.js, which wants much of Node before the first test begins (child
// processes, a cluster, flags of the program). It has the same helpers for tests, and is the same in every runtime.

const assert = require('assert');

const expected = [];

/** The calls that are still missing, but for those of the functions in `lists`. */
function missing(...lists) {
  return expected.filter(({ count, minimum, exact, counted }) =>
    (exact === undefined ? count < minimum : count !== exact) && !lists.some((list) => list.includes(counted)));
}

function checkCalls(code) {
  if (code !== 0 && code !== undefined && code !== null) return;
  const failed = missing();
  if (failed.length === 0) return;
  const [first] = failed;
  throw new Error(`mustCall: ${first.name || 'a function'} was called ${first.count} times, ` +
    `expected ${first.exact ?? `at least ${first.minimum}`}\n${first.stack}`);
}

function expectCalls(fn, criteria, field) {
  if (typeof fn === 'number') {
    criteria = fn;
    fn = noop;
  } else if (fn === undefined) {
    fn = noop;
  }
  if (expected.length === 0) process.on('exit', checkCalls);
  const entry = { count: 0, name: fn.name, stack: new Error().stack, minimum: 0 };
  entry[field] = criteria;
  expected.push(entry);
  const counted = entry.counted = function(...args) {
    entry.count++;
    return fn.apply(this, args);
  };
  Object.defineProperties(counted, {
    name: { value: fn.name, writable: false, enumerable: false, configurable: true },
    length: { value: fn.length, writable: false, enumerable: false, configurable: true },
  });
  return counted;
}

function noop() {}
const mustCall = (fn, exact = 1) => expectCalls(fn, exact, 'exact');
const mustCallAtLeast = (fn, minimum = 1) => expectCalls(fn, minimum, 'minimum');
const mustSucceed = (fn, exact) => mustCall(function(error, ...args) {
  assert.ifError(error);
  if (typeof fn === 'function') return fn.apply(this, args);
}, exact);

function mustNotCall(message) {
  const place = new Error().stack;
  return function mustNotCall(...args) {
    assert.fail(`${message || 'function should not have been called'} with ${args.length} arguments\n${place}`);
  };
}

function mustNotMutateObjectDeep(original) {
  if (original === null || typeof original !== 'object' || ArrayBuffer.isView(original)) return original;
  const fail = (what) => () => { throw new Error(`the test's object was changed: ${what}`); };
  return new Proxy(original, {
    get: (target, name, receiver) => {
      const value = Reflect.get(target, name, receiver);
      const fixed = Reflect.getOwnPropertyDescriptor(target, name)?.configurable === false;
      return typeof value === 'object' && !fixed ? mustNotMutateObjectDeep(value) : value;
    },
    set: fail('set'), defineProperty: fail('defineProperty'), deleteProperty: fail('deleteProperty'),
    setPrototypeOf: fail('setPrototypeOf'), preventExtensions: fail('preventExtensions'),
  });
}

function expectsError(validator, exact) {
  return mustCall((...args) => {
    assert.strictEqual(args.length, 1);
    assert.throws(() => { throw args[0]; }, validator);
    return true;
  }, exact);
}

let warnings;
function expectWarning(nameOrMap, expectedOnes, code) {
  if (warnings === undefined) {
    warnings = {};
    process.on('warning', (warning) => warnings[warning.name]?.(warning));
  }
  const map = typeof nameOrMap === 'string' ? { [nameOrMap]: code === undefined ? expectedOnes : [[expectedOnes, code]] } : nameOrMap;
  for (const [name, list] of Object.entries(map)) {
    let wanted = list;
    if (typeof wanted === 'string') wanted = [[wanted]];
    else if (!Array.isArray(wanted)) wanted = Object.entries(wanted).map(([key, text]) => [text, key]);
    else if (typeof wanted[0] === 'string' && wanted.length <= 2 && (wanted.length === 1 || /^[A-Z]+\d*$/.test(wanted[1]))) wanted = [wanted];
    else wanted = wanted.map((each) => (typeof each === 'string' ? [each] : each));
    wanted = [...wanted];
    warnings[name] = mustCall((warning) => {
      const next = wanted.shift();
      assert.ok(next, `an unexpected warning: ${warning}`);
      assert.strictEqual(warning.message, next[0]);
      if (next[1] !== undefined) assert.strictEqual(warning.code, next[1]);
    }, wanted.length);
  }
}

function skip(message) {
  console.log(`1..0 # Skipped: ${message}`);
  process.exit(0);
}

function getArrayBufferViews(buf) {
  const { buffer, byteOffset, byteLength } = buf;
  const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
                 Float32Array, Float64Array, BigInt64Array, BigUint64Array, DataView];
  return kinds.filter(({ BYTES_PER_ELEMENT = 1 }) => byteLength % BYTES_PER_ELEMENT === 0)
    .map((Kind) => new Kind(buffer, byteOffset, byteLength / (Kind.BYTES_PER_ELEMENT ?? 1)));
}

function getBufferSources(buf) {
  return [...getArrayBufferViews(buf), new Uint8Array(buf).buffer];
}

function invalidArgTypeHelper(input) {
  const { inspect } = require('util');
  if (input == null) return ` Received ${input}`;
  if (typeof input === 'function') return ` Received function ${input.name}`;
  if (typeof input === 'object') {
    if (input.constructor?.name) return ` Received an instance of ${input.constructor.name}`;
    return ` Received ${inspect(input, { depth: -1 })}`;
  }
  let text = inspect(input, { colors: false });
  if (text.length > 28) text = `${text.slice(0, 25)}...`;
  return ` Received type ${typeof input} (${text})`;
}

function canCreateSymLink() { return true; }
const isMainThread = true;

const common = {
  allowGlobals: noop, canCreateSymLink, childShouldThrowAndAbort: () => skip('needs child processes'),
  defaultAutoSelectFamilyAttemptTimeout: 2500, missing, enoughTestMem: true, expectWarning, expectsError, expectRequiredModule: noop,
  expectRequiredTLAError: (error) => assert.strictEqual(error.code, 'ERR_REQUIRE_ASYNC_MODULE'),
  getArrayBufferViews, getBufferSources, getTTYfd: () => -1, hasIPv6: true, hasIntl: true, hasFullICU: true, hasCrypto: true,
  hasQuic: false, hasDtls: false, hasSQLite: false, hasInspector: false, hasMultiLocalhost: () => true, hasTemporal: typeof Temporal !== 'undefined',
  hasLocalStorage: false, hasFFI: false,
  invalidArgTypeHelper, isAIX: false, isAlive: () => true, isDebug: false, isDumbTerminal: true, isFreeBSD: false, isIBMi: false,
  isInsideDirWithUnusualChars: false, isLinux: true, isMacOS: false, isMainThread, isOpenBSD: false, isPi: () => false, isRiscv64: false,
  isSunOS: false, isWindows: false, isASan: false, localIPv6Hosts: ['localhost'], localhostIPv4: '127.0.0.1', mustCall, mustCallAtLeast,
  mustNotCall, mustNotMutateObjectDeep, mustSucceed, PIPE: '/tmp/node-test.sock', parseTestMetadata: () => ({ flags: [], envs: {} }),
  platformTimeout: (ms) => ms, printSkipMessage: (message) => console.log(`1..0 # Skipped: ${message}`), PORT: 12346, pwdCommand: ['pwd', []],
  requireNoPackageJSONAbove: noop, resolveBuiltBinary: () => '', runWithInvalidFD: (run) => run(1 << 30), skip, skipIf32Bits: noop,
  skipIfDumbTerminal: () => skip('needs a terminal'), skipIfEslintMissing: () => skip('needs ESLint'), skipIfInspectorDisabled: () => skip('needs the inspector'),
  skipIfSQLiteMissing: () => skip('needs SQLite'), skipIfWorker: noop, skipIfFFIMissing: () => skip('needs FFI'),
  sleepSync: (ms) => { const end = Date.now() + ms; while (Date.now() < end); },
  escapePOSIXShell: (parts, ...values) => [String.raw({ raw: parts }, ...values), {}],
  spawnPromisified: () => skip('needs child processes'),
  expectEvents: undefined, nodeProcessAborted: () => false, usesSharedLibrary: false, inFreeBSDJail: false, bits: 64,
};

module.exports = new Proxy(common, {
  get(target, name) {
    if (!(name in target) && typeof name === 'string') throw new Error(`the stand-in for test/common has no ${name}`);
    return target[name];
  },
});
