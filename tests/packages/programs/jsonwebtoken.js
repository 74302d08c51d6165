// jsonwebtoken: HMAC, RSA and ECDSA by node:crypto's keys, expiry and audience.
import { generateKeyPairSync } from "node:crypto";
import jwt from "jsonwebtoken";
import { failure, program } from "../program.js";

export default program(async (same) => {
  const token = jwt.sign({ sub: "7", iat: 1 }, "secret");
  same("known", token, "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI3IiwiaWF0IjoxfQ.YKrFxYqQWrvIVz5cjT5jExKCvZd_nvagBTregVA0nfs");
  same("verified", jwt.verify(token, "secret").sub, "7");
  same("wrong secret", await failure(() => jwt.verify(token, "other")), "invalid signature");
  const expired = jwt.sign({ a: 1 }, "secret", { expiresIn: -1 });
  same("expired", await failure(() => jwt.verify(expired, "secret")), "jwt expired");
  const aimed = jwt.sign({}, "secret", { audience: "a", issuer: "i", expiresIn: "1h" });
  same("audience", await failure(() => jwt.verify(aimed, "secret", { audience: "b" })), "jwt audience invalid. expected: b");
  for (const [alg, kind, options] of [["RS256", "rsa", { modulusLength: 2048 }], ["PS384", "rsa", { modulusLength: 2048 }], ["ES256", "ec", { namedCurve: "P-256" }]]) {
    const { publicKey, privateKey } = generateKeyPairSync(kind, { ...options, publicKeyEncoding: { type: "spki", format: "pem" }, privateKeyEncoding: { type: "pkcs8", format: "pem" } });
    const signed = jwt.sign({ alg }, privateKey, { algorithm: alg, keyid: "k" });
    same(alg, jwt.verify(signed, publicKey, { complete: true }).header, { alg, typ: "JWT", kid: "k" });
    same(`${alg} by callback`, await new Promise((resolve) => jwt.verify(signed, (header, done) => done(null, publicKey), (error, payload) => resolve(payload.alg))), alg);
  }
});
