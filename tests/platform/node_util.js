// node:util: https://nodejs.org/api/util.html
import util, { inspect } from "node:util";
import types from "node:util/types";
import { equal, ok, rejects, same, test, throws } from "./harness.js";

export { default } from "./harness.js";

test("inspect writes values as Node does", () => {
  class Base { x = 1; }
  class Derived extends Base {}
  const circular = { name: "c" };
  circular.self = circular;
  const sparse = [1, , , 4];
  sparse.extra = true;
  for (const [value, expected] of [
    ["it's", '"it\'s"'], [-0, "-0"], [10n, "10n"], [Symbol("s"), "Symbol(s)"], [[1, [2, [3, [4]]]], "[ 1, [ 2, [ 3, [Array] ] ] ]"],
    [new Derived(), "Derived { x: 1 }"], [Derived, "[class Derived extends Base]"], [() => {}, "[Function (anonymous)]"],
    [circular, "<ref *1> { name: 'c', self: [Circular *1] }"], [sparse, "[ 1, <2 empty items>, 4, extra: true ]"],
    [new Map([[{ a: 1 }, new Set([1])]]), "Map(1) { { a: 1 } => Set(1) { 1 } }"], [Object.create(null), "[Object: null prototype] {}"],
    [{ get a() { return 1; }, set b(_) {} }, "{ a: [Getter], b: [Setter] }"], [new Date(0), "1970-01-01T00:00:00.000Z"],
    [Promise.resolve(4), "Promise { 4 }"], [new Proxy({ a: 1 }, {}), "Proxy({ a: 1 })"], [Object(3), "[Number: 3]"],
    [new Uint8Array(2), "Uint8Array(2) [ 0, 0 ]"], [Buffer.from("hi"), "<Buffer 68 69>"], [new WeakMap(), "WeakMap { <items unknown> }"],
    [new URL("http://a/").searchParams, "URLSearchParams {}"], [Object.assign(new Error("m"), { stack: "Error: m", code: 1 }), "[Error: m] { code: 1 }"],
    [new Map([[1, 2]]).entries(), "[Map Entries] { [ 1, 2 ] }"],
  ]) {
    equal(inspect(value), expected);
  }
  equal(inspect({ a: { b: 1 } }, { compact: false }), "{\n  a: {\n    b: 1\n  }\n}");
  equal(inspect({ [inspect.custom]: (depth, options, given) => `${depth} ${given === inspect}` }), "2 true");
  equal(inspect("x", { colors: true }), "\u001b[32m'x'\u001b[39m");
});

test("inspect ends for what has no end", () => {
  let deep = [];
  for (let i = 0; i < 50000; i++) deep = [deep];
  ok(inspect(deep, { depth: Infinity }).length > 0);
  const endless = new Proxy({}, { ownKeys() { throw new Error("trap"); }, getPrototypeOf() { throw new Error("trap"); } });
  equal(inspect(endless), "Proxy({})");
  ok(inspect(new Array(1e9)).includes("empty items"));
});

test("format", () => {
  equal(util.format("%s %d %i %j %o %%", "a", "1.5", 2.9, { a: 1 }, [1]), "a 1.5 2 {\"a\":1} [ 1, [length]: 1 ] %");
  equal(util.format("%s", Object.create(null)), "[Object: null prototype] {}");
  equal(util.format("a", { b: 1 }, "c"), "a { b: 1 } c");
  equal(util.format("100%", 1), "100% 1");
});

test("promisify and callbackify", async () => {
  equal(await util.promisify((a, done) => done(null, a + 1))(1), 2);
  await rejects(util.promisify((done) => done(new Error("no")))(), /no/);
  const custom = () => {};
  custom[util.promisify.custom] = async () => "custom";
  equal(await util.promisify(custom)(), "custom");
  const [error, value] = await new Promise((resolve) => util.callbackify(async (x) => x * 2)(4, (...all) => resolve(all)));
  same([error, value], [null, 8]);
  const [falsy] = await new Promise((resolve) => util.callbackify(() => Promise.reject(null))((...all) => resolve(all)));
  equal(falsy.code, "ERR_FALSY_VALUE_REJECTION");
});

test("inherits, deprecate, types, isDeepStrictEqual", () => {
  function A() {}
  function B() {}
  util.inherits(B, A);
  ok(new B() instanceof A && B.super_ === A);
  equal(util.deprecate((x) => x, "old")(3), 3);
  ok(types.isProxy(new Proxy({}, {})) && types.isPromise(Promise.resolve()) && !types.isPromise({ then() {} }));
  ok(util.types.isGeneratorFunction(function* () {}) && util.types.isUint8Array(Buffer.alloc(1)));
  ok(util.isDeepStrictEqual({ a: [new Map([[{ x: 1 }, 2]])] }, { a: [new Map([[{ x: 1 }, 2]])] }));
  ok(!util.isDeepStrictEqual([0], [-0]));
});

test("parseArgs", () => {
  const options = { verbose: { type: "boolean", short: "v" }, name: { type: "string", multiple: true } };
  const { values, positionals } = util.parseArgs({
    args: ["-v", "--name", "a", "--name=b", "rest", "--", "--not"], options, allowPositionals: true,
  });
  same([values.verbose, values.name, positionals], [true, ["a", "b"], ["rest", "--not"]]);
  throws(() => util.parseArgs({ args: ["--nope"], options }), { code: "ERR_PARSE_ARGS_UNKNOWN_OPTION" });
});

test("styleText, stripVTControlCharacters, MIMEType, parseEnv, toUSVString", () => {
  equal(util.stripVTControlCharacters(util.styleText(["bold", "red"], "x", { validateStream: false })), "x");
  throws(() => util.styleText("nocolor", "x"), { code: "ERR_INVALID_ARG_VALUE" });
  const type = new util.MIMEType('Text/HTML; Charset="utf-8"; q=a b');
  equal(`${type}`, 'text/html;charset=utf-8;q="a b"');
  throws(() => new util.MIMEType("nothing"), { code: "ERR_INVALID_MIME_SYNTAX" });
  same(util.parseEnv('A=1\nexport B="x\\ny" # c\n#D=1\nC=\'$z\''), { A: "1", B: "x\ny", C: "$z" });
  const inner = util.styleText("blue", "b", { validateStream: false });
  equal(util.styleText("red", `a${inner}c${inner}`, { validateStream: false }), "\u001b[31ma\u001b[34mb\u001b[31mc\u001b[34mb\u001b[39m\u001b[39m");
  ok(Object.getPrototypeOf(util.parseEnv("A=1")) === null);
  equal(util.toUSVString("a\ud800"), "a\ufffd");
  equal(util.getSystemErrorName(-2), "ENOENT");
});
