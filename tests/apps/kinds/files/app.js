// Files of the app's folder. The test gives the folder: a copy of this one, with a link that leads out of it.
const outcome = async (f) => {
  try {
    return await f();
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};

export default {
  routes: {
    "/page": Hearth.file("./public/page.html"),
    "/typed": Hearth.file("./public/digits.txt", { type: "text/x-digits" }),
    "/empty": Hearth.file("public/empty.txt"),
    "/large": Hearth.file("/public/large.bin"),
    "/missing": Hearth.file("./public/nothing.html"),
    "/folder": Hearth.file("./public"),
    "/outside": Hearth.file("../secret.txt"),
    "/link": Hearth.file("./link.txt"),
    "/environment": Hearth.file("./.env"),
    "/response": () => new Response(Hearth.file("./public/page.html"), { headers: { "x-own": "header" } }),
    "/fixed": new Response(Bun.file("./public/data.json"), { status: 202 }),
    "/part": () => new Response(Hearth.file("./public/digits.txt").slice(2, -3, "text/plain")),
    "/url": () => new Response(Hearth.file(new URL("./public/digits.txt", import.meta.url))),
    "/dirname": () => new Response(Hearth.file(`${import.meta.dirname}/public/digits.txt`)),
    "/response/missing": () => new Response(Hearth.file("./public/nothing.html")),
    "/any/:path": (request) => outcome(async () => new Response(await Hearth.file(request.params.path).text()))
      .then((result) => (typeof result === "string" ? new Response(result, { status: 403 }) : result)),
    "/methods": async () => {
      const file = Hearth.file("./public/digits.txt");
      const reader = file.stream().getReader();
      const first = (await reader.read()).value;
      const twice = [await file.text(), await file.text()];
      return Response.json([
        file.size, file.type, file.name, file instanceof Blob, await file.exists(), typeof file.lastModified, twice,
        [...await file.bytes()].length, (await file.arrayBuffer()).byteLength, await Hearth.file("public/data.json").json(),
        new TextDecoder().decode(first), await file.slice(3).text(), await file.slice(3).slice(-4, 6).text(), file.slice(8, 2).size,
        await new Response(file).text(), await new Response(file).clone().text(),
      ]);
    },
    "/refused": async () => {
      const missing = Hearth.file("nothing.txt");
      return Response.json([
        missing.size, await missing.exists(), await outcome(() => missing.text()),
        await outcome(() => missing.stream().getReader().read()),
        await outcome(() => Hearth.file("../secret.txt").text()), await Hearth.file("../secret.txt").exists(),
        await outcome(() => Hearth.file("link.txt").bytes()), await outcome(() => Hearth.file(".env").text()),
        await outcome(() => new Blob([Hearth.file("public/digits.txt")])),
        await outcome(() => new (Hearth.file("x").constructor)("../secret.txt")),
        await outcome(() => Hearth.file()),
      ]);
    },
  },
};
