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

const bytes = (text) => new TextEncoder().encode(text);
const text = (buffer) => new TextDecoder().decode(buffer);
const { subtle } = crypto;

export async function signatures() {
  const pairs = [
    [{ name: "ECDSA", namedCurve: "P-521" }, { name: "ECDSA", hash: "SHA-512" }],
    [{ name: "Ed25519" }, "Ed25519"],
    [{ name: "RSA-PSS", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
      { name: "RSA-PSS", saltLength: 20 }],
  ];
  for (const [algorithm, how] of pairs) {
    const { publicKey, privateKey } = await subtle.generateKey(algorithm, false, ["sign", "verify"]);
    assert(publicKey instanceof CryptoKey && publicKey.extractable && !privateKey.extractable);
    equal(privateKey.usages.join(), "sign");
    const signature = await subtle.sign(how, privateKey, bytes("text"));
    equal(await subtle.verify(how, publicKey, signature, bytes("text")), true);
    equal(await subtle.verify(how, publicKey, signature, bytes("texts")), false);
    await throws("InvalidAccessError", () => subtle.exportKey("jwk", privateKey));
    await throws("InvalidAccessError", () => subtle.verify(how, privateKey, signature, bytes("text")));
    // The public half goes out and in again.
    const jwk = await subtle.exportKey("jwk", publicKey);
    const again = await subtle.importKey("jwk", jwk, algorithm, true, ["verify"]);
    equal(await subtle.verify(how, again, signature, bytes("text")), true);
  }
  // RFC 7515, appendix A.1.
  const key = await subtle.importKey(
    "jwk",
    { kty: "oct", k: "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow" },
    { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const message = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
  equal(hex(await subtle.sign("HMAC", key, bytes(message))), "7418dfb49799e0254ffa607dd8adbbba16d4254d69d6bff05b58055853848d79");
}

export async function encryption() {
  const iv = new Uint8Array(16).fill(7);
  const ways = [
    ["AES-GCM", { name: "AES-GCM", iv, additionalData: bytes("head"), tagLength: 96 }],
    ["AES-CBC", { name: "AES-CBC", iv }],
    ["AES-CTR", { name: "aes-ctr", counter: iv, length: 64 }],
  ];
  for (const [name, how] of ways) {
    const key = await subtle.generateKey({ name, length: 192 }, true, ["encrypt", "decrypt"]);
    const sealed = await subtle.encrypt(how, key, bytes("some text"));
    equal(text(await subtle.decrypt(how, key, sealed)), "some text");
    const raw = await subtle.exportKey("raw", key);
    equal(raw.byteLength, 24);
  }
  const pair = await subtle.generateKey(
    { name: "RSA-OAEP", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-1" }, true,
    ["encrypt", "decrypt"]);
  const how = { name: "RSA-OAEP", label: bytes("label") };
  equal(text(await subtle.decrypt(how, pair.privateKey, await subtle.encrypt(how, pair.publicKey, bytes("short")))), "short");
  await throws("OperationError", async () =>
    subtle.decrypt("RSA-OAEP", pair.privateKey, await subtle.encrypt(how, pair.publicKey, bytes("short"))));
}

export async function derivation() {
  const password = await subtle.importKey("raw", bytes("password"), "PBKDF2", false, ["deriveBits", "deriveKey"]);
  const how = { name: "PBKDF2", hash: "SHA-1", salt: bytes("salt"), iterations: 4096 };
  equal(hex(await subtle.deriveBits(how, password, 160)), "4b007901b765489abead49d926f721d065a429c1");
  const key = await subtle.deriveKey(how, password, { name: "AES-GCM", length: 256 }, true, ["encrypt"]);
  equal(key.algorithm.length, 256);
  for (const algorithm of [{ name: "ECDH", namedCurve: "P-256" }, { name: "X25519" }]) {
    const one = await subtle.generateKey(algorithm, false, ["deriveBits"]);
    const two = await subtle.generateKey(algorithm, false, ["deriveBits"]);
    const agree = (own, other) => subtle.deriveBits({ name: algorithm.name, public: other.publicKey }, own.privateKey, 256);
    equal(hex(await agree(one, two)), hex(await agree(two, one)));
  }
}

export async function wrapping() {
  const wrapper = await subtle.generateKey({ name: "AES-KW", length: 128 }, false, ["wrapKey", "unwrapKey"]);
  const key = await subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, true, ["sign"]);
  const wrapped = await subtle.wrapKey("raw", key, wrapper, "AES-KW");
  const again = await subtle.unwrapKey("raw", wrapped, wrapper, "AES-KW", { name: "HMAC", hash: "SHA-256" }, true, ["sign"]);
  equal(hex(await subtle.exportKey("raw", again)), hex(await subtle.exportKey("raw", key)));
}

export async function keys_that_are_refused() {
  const hmac = { name: "HMAC", hash: "SHA-256" };
  await throws("SyntaxError", () => subtle.generateKey(hmac, true, []));
  await throws("SyntaxError", () => subtle.generateKey(hmac, true, ["encrypt"]));
  await throws("TypeError", () => subtle.generateKey(hmac, true, ["nothing"]));
  await throws("NotSupportedError", () => subtle.generateKey({ name: "DES" }, true, ["encrypt"]));
  await throws("NotSupportedError", () => subtle.generateKey({ name: "ECDSA", namedCurve: "P-1" }, true, ["sign"]));
  await throws("DataError", () => subtle.importKey("raw", new Uint8Array(5), "AES-GCM", true, ["encrypt"]));
  await throws("DataError", () => subtle.importKey("spki", new Uint8Array(50), "Ed25519", true, ["verify"]));
  await throws("TypeError", () => subtle.importKey("jwk", new Uint8Array(5), hmac, true, ["sign"]));
  await throws("TypeError", () => new CryptoKey());
}
