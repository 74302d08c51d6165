// @oslojs/encoding and @oslojs/crypto: what lucia's sessions are made of.
import { sha256 } from "@oslojs/crypto/sha2";
import { hmac } from "@oslojs/crypto/hmac";
import { constantTimeEqual } from "@oslojs/crypto/subtle";
import { SHA256 } from "@oslojs/crypto/sha2";
import { decodeBase64urlIgnorePadding, encodeBase32LowerCaseNoPadding, encodeHexLowerCase } from "@oslojs/encoding";
import { program } from "../program.js";

export default program((same) => {
  const token = encodeBase32LowerCaseNoPadding(crypto.getRandomValues(new Uint8Array(20)));
  same("token", [token.length, /^[a-z2-7]+$/.test(token)], [32, true]);
  const id = encodeHexLowerCase(sha256(new TextEncoder().encode("abc")));
  same("id", id, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const mac = hmac(SHA256, new TextEncoder().encode("key"), new TextEncoder().encode("data"));
  same("hmac", encodeHexLowerCase(mac), "5031fe3d989c6d1537a013fa6e739da23463fdaec3b70137d828e36ace221bd0");
  same("equal", [constantTimeEqual(mac, mac.slice()), constantTimeEqual(mac, new Uint8Array(32))], [true, false]);
  same("base64", new TextDecoder().decode(decodeBase64urlIgnorePadding("aGk_")), "hi?");
});
