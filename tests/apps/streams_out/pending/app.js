// A request that waits for a timer and for another server when its client goes away.
let signal = Promise.withResolvers(), waiting = Promise.withResolvers();
let timers = 0, answers = 0, failures = 0;
export default {
  async fetch(request, env) {
    switch (new URL(request.url).pathname) {
      case "/wait":
        request.signal.addEventListener("abort", () => signal.resolve(`${request.signal.aborted} ${request.signal.reason.name}`));
        setInterval(() => timers++, 5);
        fetch(env.BACKEND).then(() => answers++, () => failures++);
        waiting.resolve("waiting");
        return new Promise(() => {});
      case "/waiting":
        return new Response(await waiting.promise);
      case "/signal":
        return new Response(await signal.promise);
      case "/counts": {
        // The end of the other request may be a little behind its signal.
        for (let before = -1; before !== timers; await new Promise((resolve) => setTimeout(resolve, 100))) before = timers;
        return new Response(`no timers, ${answers} answers`);
      }
    }
  },
};
