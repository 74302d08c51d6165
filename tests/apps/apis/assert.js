export function equal(actual, expected) {
  const [a, b] = [actual, expected].map((value) => typeof value === "object" ? JSON.stringify(value) : value);
  if (!Object.is(a, b)) throw new Error(`expected ${typeof b} ${b}, got ${typeof a} ${a}`);
}

export function assert(condition, message = "the condition does not hold") {
  if (!condition) throw new Error(message);
}

/** `f` throws or rejects with an error of that name. */
export async function throws(name, f) {
  let result;
  try {
    result = await f();
  } catch (error) {
    equal(error.name, name);
    return error;
  }
  throw new Error(`expected a ${name}, got ${result}`);
}
