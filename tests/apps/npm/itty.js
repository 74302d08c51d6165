import { AutoRouter, error, json } from "itty-router";

const router = AutoRouter();

router
  .get("/", () => new Response("Hello itty!"))
  .get("/todos/:id", ({ params, query }) => ({ id: params.id, query: query.q ?? null }))
  .post("/todos", async (request) => json({ made: (await request.json()).title }))
  .get("/throw", () => {
    throw new Error("thrown");
  })
  .all("*", () => error(404, "Not Found"));

export default router;
