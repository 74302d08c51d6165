// The app behind `hearth eval`: EXPRESSION is the code as a string. An expression is tried first, then statements.
import { inspect } from "hearth:inspect";

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
      return new Response(typeof value === "string" ? value : inspect(value));
    } catch (error) {
      return new Response(inspect(error), { status: 500 });
    }
  },
};
