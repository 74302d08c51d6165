// What is too deep is a RangeError that the app can catch, never the end of the process.
const name = (f) => {
  try {
    f();
    return "no error";
  } catch (error) {
    return error.name;
  }
};
const deep = () => deep() + 1;
const nested = (depth) => "[".repeat(depth) + "]".repeat(depth);
const ways = {
  functions: () => name(deep),
  json_stringify: () => name(() => {
    let value = [];
    for (let i = 0; i < 1e6; i++) value = [value];
    JSON.stringify(value);
  }),
  to_string: () => name(() => {
    const value = { toString: () => `${value}` };
    return `${value}`;
  }),
  evaluated: () => name(() => new Function(`return ${nested(1e6)}`)),
  regex: () => name(() => new RegExp("(".repeat(1e6) + ")".repeat(1e6)).exec("")),
  proxies: () => name(() => {
    let proxy = {};
    for (let i = 0; i < 1e6; i++) proxy = new Proxy(proxy, {});
    return proxy.x;
  }),
  clone: () => name(() => {
    let value = {};
    for (let i = 0; i < 1e5; i++) value = { value };
    structuredClone(value);
  }),
  console_log: () => name(() => {
    let value = {};
    for (let i = 0; i < 1e5; i++) value = { value };
    console.log(value);
  }),
  error_cause: () => name(() => {
    let error = new Error("innermost");
    for (let i = 0; i < 1e5; i++) error = new Error("outer", { cause: error });
    console.log(error);
  }),
  uncaught: () => deep(),
};

export default { fetch: (request) => new Response(ways[new URL(request.url).pathname.slice(1)]()) };
