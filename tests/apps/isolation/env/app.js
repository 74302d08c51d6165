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
        return Response.json([typeof process, typeof Deno, typeof Bun.env, typeof require, typeof importScripts]);
    }
  },
};
