addEventListener("fetch", () => new Response("returned"));
