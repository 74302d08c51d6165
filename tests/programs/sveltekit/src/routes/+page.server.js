import { env } from "$env/dynamic/private";
import { fail } from "@sveltejs/kit";

import { add, all } from "$lib/server/todos.js";

/** What the page shows, of the server only. */
export async function load({ fetch, locals }) {
  // To the app's own route, without a request that leaves it.
  const answer = await fetch("/api/sum?a=1&b=2");
  return { greeting: env.GREETING, visitor: locals.visitor, todos: all(), sum: (await answer.json()).sum };
}

export const actions = {
  async add({ request }) {
    const title = (await request.formData()).get("title");
    if (!title) return fail(422, { message: "a title is needed" });
    add(title);
    return { added: title };
  },
  async visit({ cookies, request }) {
    cookies.set("visitor", (await request.formData()).get("name"), { path: "/", secure: false });
  },
};
