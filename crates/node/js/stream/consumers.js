"use strict";
// node:stream/consumers (https://nodejs.org/api/webstreams.html#utility-consumers): a whole stream as one value.

async function chunks(stream) {
  const all = [];
  for await (const chunk of stream) all.push(chunk);
  return all;
}

async function blob(stream) {
  return new Blob(await chunks(stream));
}

async function bytes(stream) {
  const encoder = new TextEncoder();
  const parts = (await chunks(stream)).map((chunk) => {
    if (typeof chunk === "string") return encoder.encode(chunk);
    if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    return chunk instanceof ArrayBuffer ? new Uint8Array(chunk) : encoder.encode(String(chunk));
  });
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

async function arrayBuffer(stream) {
  return (await bytes(stream)).buffer;
}

async function buffer(stream) {
  return Buffer.from(await arrayBuffer(stream));
}

async function text(stream) {
  const decoder = new TextDecoder();
  let whole = "";
  for await (const chunk of stream) {
    whole += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
  }
  return whole + decoder.decode();
}

async function json(stream) {
  return JSON.parse(await text(stream));
}

module.exports = { arrayBuffer, blob, buffer, bytes, json, text };
