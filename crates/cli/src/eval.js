// The app behind `hearth eval`: BODY is the code as a string, made into the body of an async function.
import { inspect } from "hearth:inspect";

const body = BODY;
const AsyncFunction = (async () => {}).constructor;

/** As the console shows it, without the frames that are this file's. */
function told(error) {
  const lines = inspect(error).split("\n");
  return lines.filter((line) => !/^\s+at .*(file:\/\/\/eval\.js|<anonymous>)/.test(line)).join("\n");
}

export default {
  async fetch() {
    try {
      const value = await new AsyncFunction(body)();
      return new Response(typeof value === "string" ? value : inspect(value));
    } catch (error) {
      return new Response(told(error), { status: 500 });
    }
  },
};
