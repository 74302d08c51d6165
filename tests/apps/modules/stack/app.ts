// Positions in stacks are those that people wrote, also across files and after an await.
import { fail } from "./fail.ts";

type Way = "sync" | "async";

export default {
  async fetch(request: Request): Promise<Response> {
    const way: Way = request.url.endsWith("/async") ? "async" : "sync";
    try {
      await fail(way);
    } catch (error) {
      return new Response((error as Error).stack);
    }
    return new Response("no error");
  },
};
