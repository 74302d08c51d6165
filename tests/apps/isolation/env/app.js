const tried = (f) => {
  try {
    return f();
  } catch (error) {
    return error.name;
  }
};
export default {
  fetch(request, env) {
    switch (new URL(request.url).pathname) {
      case "/all":
        return Response.json(env);
      case "/frozen":
        return Response.json([
          Object.isFrozen(env),
          tried(() => { "use strict"; env.KEY = "changed"; }),
          tried(() => { "use strict"; env.ADDED = "added"; }),
          tried(() => { "use strict"; delete env.KEY; }),
          env.KEY,
        ]);
      case "/elsewhere":
        return Response.json([typeof Deno, typeof require, typeof importScripts]);
      case "/process": {
        const shown = { ...process.env };
        const same = Bun.env === process.env;
        process.env.KEY = "changed";
        const { KEY } = process.env;
        process.env.KEY = "value";
        return Response.json([shown, same, KEY, env.KEY ?? null, typeof process.versions.node, process.cwd(), process.platform]);
      }
      case "/tick":
        return new Promise((resolve) => {
          const seen = [1];
          process.nextTick((number) => {
            seen.push(number);
            resolve(new Response(seen.join()));
          }, 3);
          seen.push(2);
        });
    }
  },
};
