// A small test harness for files of this folder, each of which is an app: `export { default } from "./harness.js"` and
// `test(name, function)` for each case. GET / runs them in order and answers with the failures as JSON.
// The checks here need no module that a test may be about.

const cases = [];

export function test(name, run) {
  cases.push({ name, run });
}

export function ok(value, message = "the value is falsy") {
  if (!value) throw new Error(message);
}

export function equal(actual, expected, message = "") {
  if (!Object.is(actual, expected)) throw new Error(`${message} got ${show(actual)}, expected ${show(expected)}`);
}

/** Compares what `show` makes of the two: structure, types of typed arrays, order of keys. */
export function same(actual, expected, message = "") {
  const [left, right] = [show(actual), show(expected)];
  if (left !== right) throw new Error(`${message} got ${left}, expected ${right}`);
}

/** `expected`: members that the error has (`name`, `code`), or a pattern of its message. Returns the error. */
export function throws(run, expected = {}) {
  let error;
  try {
    run();
  } catch (thrown) {
    error = thrown;
  }
  return check(error, expected);
}

/** The same of a promise or of a function that returns one. */
export async function rejects(promise, expected = {}) {
  let error;
  try {
    await (typeof promise === "function" ? promise() : promise);
  } catch (thrown) {
    error = thrown;
  }
  return check(error, expected);
}

function check(error, expected) {
  if (error === undefined) throw new Error("nothing was thrown");
  if (expected instanceof RegExp) {
    if (!expected.test(error.message)) throw new Error(`the message is ${error.message}, expected ${expected}`);
    return error;
  }
  for (const [name, value] of Object.entries(expected)) {
    const fits = value instanceof RegExp ? value.test(error[name]) : Object.is(error[name], value);
    if (!fits) throw new Error(`${name} is ${show(error[name])}, expected ${show(value)}: ${error.stack}`);
  }
  return error;
}

export function show(value, depth = 0) {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (Object.is(value, -0)) return "-0";
  if (typeof value !== "object" || value === null) return String(value);
  if (depth > 8) return "...";
  const inner = (element) => show(element, depth + 1);
  if (value instanceof Error) return `${value.name}(${value.message})`;
  if (value instanceof Date) return `Date(${value.getTime()})`;
  if (Array.isArray(value)) return `[${Array.from(value, inner).join(", ")}]`;
  if (ArrayBuffer.isView(value)) return `${value.constructor.name}[${new Uint8Array(value.buffer, value.byteOffset, value.byteLength).join(", ")}]`;
  if (value instanceof ArrayBuffer) return `ArrayBuffer[${new Uint8Array(value).join(", ")}]`;
  if (value instanceof Map) return `Map{${Array.from(value, ([key, element]) => `${inner(key)} => ${inner(element)}`).join(", ")}}`;
  if (value instanceof Set) return `Set{${Array.from(value, inner).join(", ")}}`;
  const members = Object.keys(value).map((key) => `${key}: ${inner(value[key])}`);
  return `{${members.join(", ")}}`;
}

export default {
  async fetch(request) {
    const failures = [];
    for (const { name, run } of cases) {
      try {
        await run(request);
      } catch (error) {
        failures.push({ name, error: String(error?.stack ?? error) });
      }
    }
    return Response.json({ cases: cases.length, failures });
  },
};
