// What Workers have beside the standard, and Ed448's contexts.
import { equal, ok, rejects, test, throws } from "./harness.js";
export { default } from "./harness.js";

const bytes = (...list) => Uint8Array.from(list);
const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");

test("bytes are compared in constant time", () => {
  for (const equals of [(a, b) => crypto.timingSafeEqual(a, b), (a, b) => crypto.subtle.timingSafeEqual(a, b)]) {
    equal(equals(bytes(1, 2), bytes(1, 2)), true);
    equal(equals(bytes(1, 2), bytes(1, 3).buffer), false);
    throws(() => equals(bytes(1), bytes(1, 2)), { name: "TypeError" });
    throws(() => equals("a", "a"), { name: "TypeError" });
  }
});

test("a DigestStream computes the digest of what it is given", async () => {
  const stream = new crypto.DigestStream("SHA-256");
  ok(stream instanceof WritableStream);
  const writer = stream.getWriter();
  await writer.write(bytes(0x61));
  await writer.write(bytes(0x62, 0x63).buffer);
  await writer.close();
  equal(hex(await stream.digest), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  equal(stream.bytesWritten, 3n);
});

test("a DigestStream takes bodies, and MD5", async () => {
  const stream = new crypto.DigestStream("MD5");
  await new Response("abc").body.pipeTo(stream);
  equal(hex(await stream.digest), "900150983cd24fb0d6963f7d28e17f72");
});

test("a DigestStream refuses what is no algorithm and no bytes", async () => {
  throws(() => new crypto.DigestStream("SHA-9"), { name: "NotSupportedError" });
  throws(() => new crypto.DigestStream(), { name: "TypeError" });
  const stream = new crypto.DigestStream("SHA-1");
  await rejects(stream.getWriter().write("text"), { name: "TypeError" });
  await rejects(stream.digest, { name: "TypeError" });
});

test("a context of Ed448 is part of what is signed", async () => {
  const { privateKey, publicKey } = await crypto.subtle.generateKey("Ed448", false, ["sign", "verify"]);
  const data = bytes(1, 2, 3);
  const context = bytes(9);
  const signature = await crypto.subtle.sign({ name: "Ed448", context }, privateKey, data);
  equal(await crypto.subtle.verify({ name: "Ed448", context }, publicKey, signature, data), true);
  equal(await crypto.subtle.verify({ name: "Ed448", context: bytes(8) }, publicKey, signature, data), false);
  equal(await crypto.subtle.verify("Ed448", publicKey, signature, data), false);
});
