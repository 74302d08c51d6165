// The first of two requests waits until the second has come: they are handled at the same time, in one context.
let waiting;
export default {
  fetch(request) {
    const name = new URL(request.url).pathname.slice(1);
    if (waiting === undefined) return new Promise((resolve) => (waiting = { name, resolve }));
    const { name: other, resolve } = waiting;
    waiting = undefined;
    resolve(new Response(`${other} met ${name}`));
    return new Response(`${name} met ${other}`);
  },
};
