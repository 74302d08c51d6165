// Runs one test of the web-platform-tests in a context of its own: its scripts come as JSON, its results go back as JSON.

/** What a script of a page or worker finds, and a fetch handler does not. */
function prepare(url) {
  const location = new URL(url);
  const define = (name, value) => Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  define("location", location);
  define("GLOBAL", { isWindow: () => false, isWorker: () => true, isShadowRealm: () => false });
  // Relative addresses are the test's.
  const { fetch, Request } = globalThis;
  const absolute = (input) => (typeof input === "string" && !URL.canParse(input) ? new URL(input, location).href : input);
  define("fetch", (input, init) => fetch(absolute(input), init));
  define("Request", new Proxy(Request, {
    construct: (target, [input, ...rest], newTarget) => Reflect.construct(target, [absolute(input), ...rest], newTarget),
  }));
}

function run({ url, scripts }) {
  prepare(url);
  if (scripts.length === 0) return Promise.resolve({ status: 0, message: null, tests: [] });
  return new Promise((resolve) => {
    const evaluate = eval; // indirect: scripts run in the global scope
    const [harness, ...others] = scripts;
    try {
      evaluate(harness.text);
      globalThis.setup({ output: false });
      globalThis.add_completion_callback((tests, status) =>
        resolve({
          status: status.status,
          message: status.message,
          tests: tests.map(({ name, status, message }) => ({ name, status, message })),
        }));
      // As one text: what scripts declare with `const` and `let` is theirs alone in an eval.
      evaluate(others.map(({ text }) => text).join("\n"));
    } catch (error) {
      resolve({ status: 1, message: `${error?.stack ?? error}`, tests: [] });
      return;
    }
    // Tests that only declare are complete when everything is declared; single-page tests say so themselves.
    globalThis.done?.();
  });
}

export default {
  async fetch(request) {
    return Response.json(await run(await request.json()));
  },
};
