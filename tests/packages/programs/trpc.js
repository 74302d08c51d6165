// @trpc/server over fetch and @trpc/client with batching and subscriptions, against itself.
import { createTRPCClient, httpBatchLink, httpSubscriptionLink, splitLink } from "@trpc/client";
import { initTRPC, TRPCError } from "@trpc/server";
import { fetchRequestHandler } from "@trpc/server/adapters/fetch";
import { z } from "zod";
import { program } from "../program.js";

const t = initTRPC.context().create();
let requests = 0;
const router = t.router({
  hello: t.procedure.input(z.object({ name: z.string() })).query(({ input, ctx }) => `hello ${input.name} ${ctx.user}`),
  add: t.procedure.input(z.number().array()).mutation(({ input }) => input.reduce((a, b) => a + b)),
  secret: t.procedure.query(() => {
    throw new TRPCError({ code: "FORBIDDEN", message: "keep out" });
  }),
});

export default program(
  async (same, origin) => {
    const client = createTRPCClient({ links: [httpBatchLink({ url: `${origin}/trpc`, headers: { "x-user": "Ada" } })] });
    const [hello, again] = await Promise.all([client.hello.query({ name: "x" }), client.hello.query({ name: "y" })]);
    same("queries", [hello, again, requests], ["hello x Ada", "hello y Ada", 1]);
    same("mutation", await client.add.mutate([1, 2, 3]), 6);
    const failed = await client.secret.query().catch((error) => error);
    same("error", [failed.message, failed.data.code, failed.data.httpStatus], ["keep out", "FORBIDDEN", 403]);
    const refused = await client.hello.query({}).catch((error) => error.data.code);
    same("input", refused, "BAD_REQUEST");
  },
  (request) => {
    requests++;
    return fetchRequestHandler({ endpoint: "/trpc", req: request, router, createContext: () => ({ user: request.headers.get("x-user") }) });
  },
);
