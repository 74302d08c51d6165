// Runs one test of the web-platform-tests in a context of its own, in any runtime.

/** What a script of a page or worker finds, and a server does not. */
function prepare(url) {
  const location = new URL(url);
  const define = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  define("location", location);
  define("GLOBAL", { isWindow: () => false, isWorker: () => true, isShadowRealm: () => false });
  if (globalThis.self === undefined) define("self", globalThis);
  // Relative addresses are the test's.
  const { fetch, Request } = globalThis;
  const absolute = (input) => (typeof input === "string" && !URL.canParse(input) ? new URL(input, location).href : input);
  define("fetch", (input, init) => fetch(absolute(input), init));
  define("Request", new Proxy(Request, {
    construct: (target, [input, ...rest], newTarget) => Reflect.construct(target, [absolute(input), ...rest], newTarget),
  }));
}

const SCOPES = ["WorkerGlobalScope", "DedicatedWorkerGlobalScope", "SharedWorkerGlobalScope", "ServiceWorkerGlobalScope"];

/** The harness must not take this for a worker that a page made: it would wait for messages. Returns what undoes it. */
function hideScope() {
  const kept = SCOPES.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]);
  for (const name of SCOPES) delete globalThis[name];
  return () => {
    for (const [name, desc] of kept) if (desc !== undefined) Object.defineProperty(globalThis, name, desc);
    // The tests of interfaces ask what kind of scope this is: a worker's.
    for (const name of SCOPES.slice(0, 2)) {
      globalThis[name] ??= class { static [Symbol.hasInstance](value) { return value === globalThis; } };
    }
  };
}

/** Scripts are texts, or functions where there is no eval: testharness.js, and all others. */
export function run({ url, scripts, functions, seconds }) {
  prepare(url);
  const evaluate = eval; // indirect: scripts run in the global scope
  const [harness, ...others] = scripts;
  // As one text: what scripts declare with `const` and `let` is theirs alone in an eval.
  const steps = functions ?? [() => evaluate(harness.text), () => evaluate(others.map(({ text }) => text).join("\n"))];
  return new Promise((resolve) => {
    try {
      const restoreScope = hideScope();
      steps[0]();
      restoreScope();
      globalThis.setup({ output: false });
      globalThis.add_completion_callback((tests, status) =>
        resolve({
          status: status.status,
          message: status.message,
          tests: tests.map(({ name, status, message }) => ({ name, status, message })),
        }));
      steps[1]();
    } catch (error) {
      resolve({ status: 1, message: `${error?.stack ?? error}`, tests: [] });
      return;
    }
    // Subtests that hang count as such, and those after them.
    setTimeout(() => globalThis.timeout?.(), seconds * 1000);
    // Tests that only declare are complete when everything is declared; single-page tests say so themselves.
    globalThis.done?.();
  });
}
