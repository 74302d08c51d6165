// What a program of this folder is: an app that answers GET / with `ok`, or with what differs from what it expects.
// It uses no module that a package may be about.

/** An app that runs `run(same, origin)` when it is asked for `/`; `serve(request)` answers all other paths. */
export function program(run, serve = () => new Response("not found", { status: 404 })) {
  return {
    async fetch(request) {
      const url = new URL(request.url);
      return url.pathname === "/" ? new Response(await answer(run, url.origin)) : serve(request, url);
    },
  };
}

/** The same for programs that start a server of their own. */
export async function answer(run, origin) {
  const differences = [];
  const same = (name, got, expected) => {
    const [left, right] = [show(got), show(expected)];
    if (left !== right) differences.push(`${name}: got ${left}, expected ${right}`);
  };
  try {
    await run(same, origin);
  } catch (error) {
    differences.push(`thrown: ${error?.stack ?? error}`);
  }
  return differences.length === 0 ? "ok" : differences.join("\n");
}

/** The message of what a function or promise fails with. */
export async function failure(run) {
  try {
    await (typeof run === "function" ? run() : run);
  } catch (error) {
    return error.message;
  }
  return "nothing was thrown";
}

/** All chunks of a Node or web stream as one text. */
export async function text(stream) {
  const decoder = new TextDecoder();
  let all = "";
  for await (const chunk of stream) all += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
  return all;
}

const bytes = ({ buffer, byteOffset, byteLength }) => [...new Uint8Array(buffer, byteOffset, byteLength)];

function show(value) {
  return JSON.stringify(value, function (key, value) {
    // Before their toJSON: buffers are compared as bytes, in whatever class they come.
    if (ArrayBuffer.isView(this[key])) return bytes(this[key]);
    if (typeof value === "bigint") return `${value}n`;
    if (value === undefined) return "undefined";
    if (typeof value === "number" && !Number.isFinite(value)) return String(value);
    if (value instanceof Map || value instanceof Set) return [...value];
    return value;
  });
}
