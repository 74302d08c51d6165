// @ts-check
"use strict";
// WebSocketPair, as Cloudflare Workers have it (https://developers.cloudflare.com/workers/runtime-apis/websockets/): the two
// ends of one socket, as the properties 0 and 1. One is accepted and spoken through, the other goes to the client:
// `new Response(null, { status: 101, webSocket })`. Both may be accepted as well: then two parts of an app speak to each other.

const { op_websocket_pair } = require("ops");
const webidl = require("webidl");
const { currentRequest } = require("request_scope");
const { socketFromNative } = require("websocket/socket");

class WebSocketPair {
  0;
  1;

  constructor() {
    const ends = op_websocket_pair(currentRequest());
    this[0] = socketFromNative(ends[0]);
    this[1] = socketFromNative(ends[1]);
  }
}
webidl.configureInterface(WebSocketPair);

module.exports = { WebSocketPair };
