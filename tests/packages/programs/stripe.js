// stripe: requests over its HTTP client against a mock of its own, pages, errors and webhooks.
import Stripe from "stripe";
import { failure, program } from "../program.js";

export default program(
  async (same, origin) => {
    const { hostname, port } = new URL(origin);
    const stripe = new Stripe("sk_test", { host: hostname, port: Number(port), protocol: "http", maxNetworkRetries: 0, telemetry: false });
    const made = await stripe.customers.create({ email: "a@b.co", metadata: { k: "v" } });
    same("created", [made.body, made.auth], ["email=a%40b.co&metadata[k]=v", "Bearer sk_test"]);
    const ids = [];
    for await (const customer of stripe.customers.list({ limit: 2 })) ids.push(customer.id);
    same("pages", ids, ["c1", "c2", "c3"]);
    const failed = await stripe.charges.retrieve("x").catch((error) => error);
    same("error", [failed.type, failed.code, failed.statusCode], ["StripeCardError", "declined", 402]);
    const payload = '{"id":"evt_1","object":"event"}';
    const header = await stripe.webhooks.generateTestHeaderStringAsync({ payload, secret: "whsec" });
    same("webhook", (await stripe.webhooks.constructEventAsync(payload, header, "whsec")).id, "evt_1");
    same("forged", (await failure(stripe.webhooks.constructEventAsync(payload, header, "other"))).startsWith("No signatures found"), true);
  },
  async (request, url) => {
    if (url.pathname === "/v1/charges/x") return Response.json({ error: { type: "card_error", code: "declined", message: "no" } }, { status: 402 });
    if (request.method === "POST") return Response.json({ id: "c1", body: await request.text(), auth: request.headers.get("authorization") });
    const after = url.searchParams.get("starting_after");
    return Response.json({ object: "list", has_more: !after, url: "/v1/customers", data: after ? [{ id: "c3" }] : [{ id: "c1" }, { id: "c2" }] });
  },
);
