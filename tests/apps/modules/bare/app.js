import plain from "plain";
import { scoped } from "@scope/pkg";
import { sub } from "plain/sub.js";
import { which } from "conditions";
import { feature } from "conditions/feature/one";
import { own } from "#internal";
export default { fetch: () => new Response([plain, scoped, sub, which, feature, own].join()) };
