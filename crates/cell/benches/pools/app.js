// A small app as people write them: about 1 KB, a few functions of which a request uses some. NUMBER makes each one new.
const greetings = { en: "Hello", de: "Hallo", fr: "Bonjour", number: NUMBER };

class NotFound extends Error {
  status = 404;
}

function language(request) {
  const accepted = request.headers.get("accept-language") ?? "en";
  return accepted.split(",").map((part) => part.trim().slice(0, 2)).find((part) => part in greetings) ?? "en";
}

function greet(request) {
  return new Response(`${greetings[language(request)]} from app ${greetings.number}`);
}

async function echo(request) {
  const body = await request.json();
  return Response.json({ ...body, number: greetings.number });
}

const routes = { "/": greet, "/echo": echo };

export default {
  async fetch(request) {
    try {
      const route = routes[new URL(request.url).pathname];
      if (!route) throw new NotFound(request.url);
      return await route(request);
    } catch (error) {
      return new Response(error.message, { status: error.status ?? 500 });
    }
  },
};
