// The app behind `hearth eval`: EXPRESSION is the code as a string. An expression is tried first, then statements.
const code = EXPRESSION;
const AsyncFunction = (async () => {}).constructor;

function compile() {
  try {
    return new AsyncFunction(`return (\n${code}\n)`);
  } catch {
    return new AsyncFunction(code);
  }
}

export default {
  async fetch() {
    try {
      const value = await compile()();
      return new Response(typeof value === "string" ? value : console[Symbol.for("hearth.inspect")]?.(value) ?? String(value));
    } catch (error) {
      return new Response(`${error?.stack ?? error}`, { status: 500 });
    }
  },
};
