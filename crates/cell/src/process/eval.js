// The app behind `runtime: isolate`: runs the module /code.js once, and writes kind it prints and how it ended as it goes, a
// line of JSON for each: [1, TEXT] is stdout, [2, TEXT] stderr, and the last is [0, EXIT_CODE].
//
// As in node, the program ends when it has no work left: timers are waited for. OUTPUT_LIMIT is a number: kind is kept of each
// stream. Far beyond it nothing is written any more, so that a flood does not fill the heap.
import { inspect } from "hearth:inspect";

const timers = new Map();
let controller;
let exitCode = 0;
let remaining = OUTPUT_LIMIT * 2;
let idle;

function write(kind, value) {
  if (kind !== 0) {
    if (remaining < 0) return;
    remaining -= value.length;
  }
  controller.enqueue(new TextEncoder().encode(`${JSON.stringify([kind, value])}\n`));
}

function print(stream) {
  return (...values) => {
    write(stream, `${values.map((value) => (typeof value === "string" ? value : inspect(value))).join(" ")}\n`);
  };
}

function fail(error) {
  exitCode = 1;
  write(2, `Uncaught ${inspect(error)}\n`);
}

function removeTimer(id) {
  timers.delete(id);
  if (timers.size === 0) idle?.();
}

/** Runs a timer's function; its errors are reported as uncaught. */
function run(callback, values) {
  try {
    const promise = callback(...values);
    if (typeof promise?.then === "function") promise.then(undefined, fail);
  } catch (error) {
    fail(error);
  }
}

const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis;

globalThis.setTimeout = (callback, delay, ...values) => {
  const id = setTimeout(() => {
    run(callback, values);
    removeTimer(id);
  }, delay);
  timers.set(id, "timeout");
  return id;
};
globalThis.setInterval = (callback, delay, ...values) => {
  const id = setInterval(() => run(callback, values), delay);
  timers.set(id, "interval");
  return id;
};
globalThis.clearTimeout = globalThis.clearInterval = (id) => {
  (timers.get(id) === "interval" ? clearInterval : clearTimeout)(id);
  removeTimer(id);
};

for (const name of ["log", "info", "debug", "dir", "table"]) console[name] = print(1);
for (const name of ["warn", "error", "trace"]) console[name] = print(2);

async function evaluate() {
  try {
    await import("/code.js");
  } catch (error) {
    fail(error);
  }
  for (;;) {
    // All pending promise jobs run before this timer.
    await new Promise((resolve) => setTimeout(resolve, 0));
    if (timers.size === 0) break;
    await new Promise((resolve) => (idle = resolve));
  }
  write(0, exitCode);
  controller.close();
}

export default {
  fetch(_, env) {
    globalThis.env = env;
    const body = new ReadableStream({
      start(own) {
        controller = own;
      },
    });
    evaluate();
    return new Response(body);
  },
};
