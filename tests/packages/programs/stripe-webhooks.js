// stripe: webhooks checked without waiting.
import Stripe from "stripe";
import { failure, program } from "../program.js";

export default program(async (same) => {
  const { webhooks } = new Stripe("sk_test");
  const payload = '{"id":"evt_1","object":"event"}';
  const header = webhooks.generateTestHeaderString({ payload, secret: "whsec" });
  same("webhook", webhooks.constructEvent(payload, header, "whsec").id, "evt_1");
  same("forged", (await failure(() => webhooks.constructEvent(payload, header, "other"))).startsWith("No signatures found"), true);
});
