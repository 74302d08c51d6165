// jose: signed and encrypted tokens, key sets, and what it refuses.
import * as jose from "jose";
import { failure, program } from "../program.js";

export default program(async (same) => {
  const secret = new TextEncoder().encode("0123456789abcdef0123456789abcdef");
  const token = await new jose.SignJWT({ role: "admin" }).setProtectedHeader({ alg: "HS256" }).setSubject("7").setExpirationTime("1h").sign(secret);
  const { payload } = await jose.jwtVerify(token, secret, { subject: "7" });
  same("HS256", payload.role, "admin");
  same("wrong key", await failure(jose.jwtVerify(token, new Uint8Array(32))), "signature verification failed");
  for (const alg of ["RS256", "PS256", "ES256", "EdDSA"]) {
    const { publicKey, privateKey } = await jose.generateKeyPair(alg, { extractable: true });
    const signed = await new jose.SignJWT({ alg }).setProtectedHeader({ alg, kid: "k" }).sign(privateKey);
    const keys = jose.createLocalJWKSet({ keys: [{ ...(await jose.exportJWK(publicKey)), kid: "k", alg }] });
    same(alg, (await jose.jwtVerify(signed, keys)).payload.alg, alg);
    const pem = await jose.importPKCS8(await jose.exportPKCS8(privateKey), alg);
    same(`${alg} in PEM`, (await new jose.CompactSign(secret).setProtectedHeader({ alg }).sign(pem)).split(".").length, 3);
  }
  for (const [alg, enc] of [["dir", "A256GCM"], ["A256KW", "A128CBC-HS256"], ["PBES2-HS256+A128KW", "A256GCM"]]) {
    const made = await new jose.EncryptJWT({ a: 1 }).setProtectedHeader({ alg, enc }).encrypt(secret);
    const allowed = { keyManagementAlgorithms: [alg] };
    same(alg, (await jose.jwtDecrypt(made, secret, allowed)).payload, { a: 1 });
  }
  const { publicKey, privateKey } = await jose.generateKeyPair("ECDH-ES");
  const made = await new jose.CompactEncrypt(secret).setProtectedHeader({ alg: "ECDH-ES", enc: "A256GCM" }).encrypt(publicKey);
  same("ECDH-ES", (await jose.compactDecrypt(made, privateKey)).plaintext, secret);
  const jwk = { kty: "oct", k: "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow" };
  same("thumbprint", await jose.calculateJwkThumbprint(jwk), "y_x3gCJnL6oKGBBIXScabduwxTVy2Wd2bzRVEUbdUzc");
});
