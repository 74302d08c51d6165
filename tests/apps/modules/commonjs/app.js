import whole, { named, Class } from "classic";
import { inner } from "classic/lib/inner.js";
import * as space from "classic";
import compiled, { helper } from "compiled";
import data from "classic/data.json" with { type: "json" };
export default {
  fetch: () => new Response([
    whole.named, named, new Class().name, inner, Object.keys(space).sort().join("+"), compiled, helper(), data.version, whole.cycle,
  ].join()),
};
