// @ts-check
"use strict";
// Assets bindings: `env.ASSETS.fetch(request)` of Cloudflare's Workers and Pages
// (https://developers.cloudflare.com/workers/static-assets/binding/). The files are those of the app's static folder; the host
// of the URL does not matter. Deviations: methods other than GET and HEAD get 405.

const { PromiseReject, TypeError } = require("primordials");
const webidl = require("webidl");
const { Request } = require("fetch/request");
const { fetchAssets } = require("fetch/fetch");

class Fetcher {
  fetch(input, init = undefined) {
    try {
      webidl.requiredArguments(arguments.length, 1, "Failed to execute 'fetch' on 'Fetcher'");
      return fetchAssets(new Request(input, init));
    } catch (error) {
      return PromiseReject(error);
    }
  }

  connect() {
    throw new TypeError("assets have no connections: use fetch");
  }
}
webidl.configureInterface(Fetcher);

function addAssets(values, names) {
  for (let i = 0; i < names.length; i++) values[names[i]] = new Fetcher();
}

module.exports = { Fetcher, addAssets };
