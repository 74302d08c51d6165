// Globals of files that have not run look like those that have. Answers with what does not, so with nothing.

const ENUMERABLE = [
  "setTimeout", "setInterval", "clearTimeout", "clearInterval", "structuredClone", "atob", "btoa", "fetch", "crypto", "performance",
  "queueMicrotask", "reportError", "addEventListener", "removeEventListener", "dispatchEvent", "self", "navigator",
  "setImmediate", "clearImmediate",
];
const OTHERS = [
  "DOMException", "Event", "CustomEvent", "AbortSignal", "TextDecoder", "console", "ReadableStream", "TransformStream", "URL",
  "URLSearchParams", "Blob", "File", "FormData", "WebSocket", "WebSocketPair", "FetchEvent", "Headers", "Request", "Response",
  "WebAssembly", "Buffer", "global", "process",
];
const problems = [];

function check(ok, what) {
  if (!ok) problems.push(what);
}

function describe(name) {
  return JSON.stringify(Object.getOwnPropertyDescriptor(globalThis, name));
}

const keys = Object.keys(globalThis);
for (const name of [...ENUMERABLE, ...OTHERS]) {
  const enumerable = ENUMERABLE.includes(name);
  check(name in globalThis && Object.hasOwn(globalThis, name), `${name} is there`);
  check(keys.includes(name) === enumerable, `${name} is enumerable or not`);
}

// Changes of a global before its first access.
globalThis.Blob = 1;
check(describe("Blob") === '{"value":1,"writable":true,"enumerable":false,"configurable":true}', `Blob: ${describe("Blob")}`);
URLSearchParams = 2;
check(URLSearchParams === 2 && globalThis.URLSearchParams === 2, "URLSearchParams can be assigned to");
Object.defineProperty(globalThis, "FormData", { value: 3, enumerable: true });
check(describe("FormData") === '{"value":3,"writable":true,"enumerable":true,"configurable":true}', `FormData: ${describe("FormData")}`);
check(delete globalThis.WebSocket && !("WebSocket" in globalThis) && typeof WebSocket === "undefined", "WebSocket can be deleted");
Object.defineProperty(globalThis, "atob", { get: () => 4 });
check(atob === 4, "atob can become an accessor");
const heir = Object.create(globalThis);
heir.File = 5;
check(Object.hasOwn(heir, "File") && typeof File === "function", "an heir of the global object has its own File");

for (const name of [...ENUMERABLE, ...OTHERS]) {
  if (["Blob", "URLSearchParams", "FormData", "WebSocket", "atob"].includes(name)) continue;
  const { value, writable, enumerable, configurable, get } = Object.getOwnPropertyDescriptor(globalThis, name);
  check(value !== undefined && get === undefined, `${name} has a value`);
  check(writable && configurable && enumerable === ENUMERABLE.includes(name), `${name} has its attributes`);
  check(value === globalThis[name] && value === heir[name] || name === "File", `${name} is one and the same`);
}

// At the brink of the stack files cannot run, and can afterwards.
const { getOwnPropertyDescriptor } = Object;
let refused = 0;
function deep() {
  try {
    deep();
  } catch (error) {
    try {
      getOwnPropertyDescriptor(globalThis, "ExtendableEvent");
      getOwnPropertyDescriptor(globalThis, "PromiseRejectionEvent");
    } catch {
      refused++;
    }
    throw error;
  }
}
try {
  deep();
} catch (error) {
  check(error instanceof RangeError, `${error}`);
}
check(refused > 0 && typeof PromiseRejectionEvent === "function" && FetchEvent.prototype instanceof ExtendableEvent, `refused ${refused}`);

export default {
  async fetch(request) {
    check(request.signal instanceof AbortSignal, "signal");
    check(request.body instanceof ReadableStream, "body");
    const blob = await new Response("x").blob();
    check(blob.constructor.name === "Blob" && await blob.text() === "x", "blob");
    const pipe = new TransformStream();
    const done = new Response(pipe.readable.pipeThrough(new TextDecoderStream())).body instanceof ReadableStream;
    check(done, "pipe");
    check(await new Response(new Response("text").body).text() === "text", "text");
    try {
      AbortSignal.abort().throwIfAborted();
    } catch (error) {
      check(error instanceof DOMException && error.name === "AbortError", "exception");
    }
    Object.freeze(globalThis);
    check(new Frozen().same(), "frozen");
    return new Response(problems.join("\n"));
  },
};

/** Of a global that was first looked at when the global object was frozen. */
class Frozen {
  same() {
    return typeof SubtleCrypto === "function" && SubtleCrypto === SubtleCrypto && crypto.subtle instanceof SubtleCrypto;
  }
}
