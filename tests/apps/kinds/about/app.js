const tried = (f) => {
  try {
    return f() === undefined ? "done" : "done";
  } catch (error) {
    return error.name;
  }
};
export default {
  fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/app":
        return Response.json(Hearth.app);
      case "/forged":
        return Response.json([
          tried(() => { Hearth.app.name = "other"; }),
          tried(() => { Hearth.app = {}; }),
          tried(() => { globalThis.Hearth = {}; }),
          tried(() => { delete globalThis.Hearth; }),
          tried(() => { Bun.file = 1; }),
          Object.isFrozen(Hearth), Object.isFrozen(Hearth.app), Object.isFrozen(Bun), Hearth.app.name,
        ]);
      case "/bun":
        return Response.json([Bun.file === Hearth.file, Object.keys(Bun)]);
      case "/log":
        console.log("a line of the app");
        return new Response("logged");
      default:
        return new Response("?");
    }
  },
};
