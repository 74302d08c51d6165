import { assert, equal, throws } from "./assert.js";

const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
const digest = async (name, text) => hex(await crypto.subtle.digest(name, new TextEncoder().encode(text)));

export async function digests() {
  equal(await digest("SHA-1", "abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  equal(await digest("SHA-256", "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  equal(await digest({ name: "sha-384" }, "abc"),
    "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7");
  equal(await digest("SHA-512", ""),
    "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e");
  await throws("NotSupportedError", () => digest("MD5", "abc"));
}

export async function random() {
  const a = crypto.getRandomValues(new Uint8Array(32));
  const b = crypto.getRandomValues(new Uint8Array(32));
  assert(a.some((byte) => byte !== 0) && hex(a) !== hex(b));
  assert(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()));
  assert(crypto.randomUUID() !== crypto.randomUUID());
  await throws("QuotaExceededError", () => crypto.getRandomValues(new Uint8Array(65537)));
  await throws("TypeMismatchError", () => crypto.getRandomValues(new Float32Array(1)));
}
