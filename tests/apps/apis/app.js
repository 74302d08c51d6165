// Cases that check themselves: /url/parts runs `parts` of url.js. The answer is "ok", or what is wrong.
import * as abort from "./abort.js";
import * as blob from "./blob.js";
import * as clone from "./clone.js";
import * as crypto from "./crypto.js";
import * as encoding from "./encoding.js";
import * as events from "./events.js";
import * as headers from "./headers.js";
import * as messages from "./messages.js";
import * as misc from "./misc.js";
import * as params from "./params.js";
import * as ports from "./ports.js";
import * as streams from "./streams.js";
import * as timers from "./timers.js";
import * as url from "./url.js";

const topics = { abort, blob, clone, crypto, encoding, events, headers, messages, misc, params, ports, streams, timers, url };

export default {
  async fetch(request) {
    const [, topic, name] = new URL(request.url).pathname.split("/");
    if (name === undefined) return new Response(Object.keys(topics[topic]).sort().join());
    try {
      await topics[topic][name]();
      return new Response("ok");
    } catch (error) {
      return new Response(error.stack);
    }
  },
};
