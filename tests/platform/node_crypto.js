import crypto, { createHash, webcrypto } from "node:crypto";
import { equal, ok, rejects, same, test, throws } from "./harness.js";
export { default } from "./harness.js";

const text = (value) => new TextEncoder().encode(value);
const promised = (start) => new Promise((resolve, reject) => start((error, value) => (error ? reject(error) : resolve(value))));

test("hashes are those that are published", () => {
  const known = {
    md5: "900150983cd24fb0d6963f7d28e17f72",
    sha1: "a9993e364706816aba3e25717850c26c9cd0d89d",
    ripemd160: "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc",
    "sha3-256": "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532",
    "RSA-SHA256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  };
  for (const [name, digest] of Object.entries(known)) {
    equal(createHash(name).update("a").update(text("bc")).digest("hex"), digest);
    equal(crypto.hash(name, "abc"), digest);
  }
  ok(crypto.getHashes().includes("blake2b512"));
  throws(() => createHash("none"), { message: "Digest method not supported" });
});

test("a hash is copied, and ends once", () => {
  const hash = createHash("sha1").update("a");
  const copy = hash.copy();
  equal(copy.update("bc").digest("hex"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  hash.digest();
  throws(() => hash.digest(), { code: "ERR_CRYPTO_HASH_FINALIZED" });
  throws(() => hash.update("a"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
  throws(() => hash.copy(), { code: "ERR_CRYPTO_HASH_FINALIZED" });
  equal(createHash("shake128", { outputLength: 5 }).digest("hex"), "7f9c2ba4e8");
});

test("an HMAC is that of RFC 4231", () => {
  const digest = crypto.createHmac("sha256", "Jefe").update("what do ya want for nothing?").digest("hex");
  equal(digest, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  throws(() => crypto.createHmac("sha256", null), { code: "ERR_INVALID_ARG_TYPE" });
});

test("ciphers open what they seal", () => {
  for (const name of ["aes-256-cbc", "aes-128-ctr", "aes-192-gcm", "aes-128-ccm", "aes-256-ocb", "chacha20-poly1305", "des-ede3-cbc", "aes-128-ecb"]) {
    const { keyLength, ivLength, mode } = crypto.getCipherInfo(name);
    const key = crypto.randomBytes(keyLength);
    const iv = ivLength === undefined ? null : crypto.randomBytes(ivLength);
    const authenticates = ["gcm", "ccm", "ocb"].includes(mode) || name.includes("poly");
    const options = authenticates ? { authTagLength: 16 } : undefined;
    const cipher = crypto.createCipheriv(name, key, iv, options);
    if (authenticates) cipher.setAAD(text("head"), { plaintextLength: 11 });
    const sealed = cipher.update("hello world", "utf8", "hex") + cipher.final("hex");
    const decipher = crypto.createDecipheriv(name, key, iv, options);
    if (authenticates) {
      decipher.setAuthTag(cipher.getAuthTag());
      decipher.setAAD(text("head"), { plaintextLength: 11 });
    }
    equal(decipher.update(sealed, "hex", "utf8") + decipher.final("utf8"), "hello world", name);
  }
});

test("what was changed is refused", () => {
  const [key, iv] = [new Uint8Array(16), new Uint8Array(12)];
  const cipher = crypto.createCipheriv("aes-128-gcm", key, iv);
  const sealed = cipher.update("text");
  cipher.final();
  sealed[0] ^= 1;
  const decipher = crypto.createDecipheriv("aes-128-gcm", key, iv);
  decipher.setAuthTag(cipher.getAuthTag());
  decipher.update(sealed);
  throws(() => decipher.final(), { message: "Unsupported state or unable to authenticate data" });
  const padded = crypto.createDecipheriv("aes-128-cbc", key, new Uint8Array(16));
  padded.update(new Uint8Array(16));
  throws(() => padded.final(), { code: "ERR_OSSL_BAD_DECRYPT" });
  throws(() => crypto.createCipheriv("aes-128-cbc", key, iv), { code: "ERR_CRYPTO_INVALID_IV" });
  throws(() => crypto.createCipheriv("aes-256-cbc", key, iv), { code: "ERR_CRYPTO_INVALID_KEYLEN" });
  throws(() => crypto.createCipheriv("aes-999", key, iv), { code: "ERR_CRYPTO_UNKNOWN_CIPHER" });
});

test("keys are derived as the RFCs say", async () => {
  equal(crypto.pbkdf2Sync("password", "salt", 4096, 20, "sha1").toString("hex"), "4b007901b765489abead49d926f721d065a429c1");
  equal(crypto.scryptSync("", "", 16, { N: 16, p: 1, r: 1 }).toString("hex"), "77d6576238657b203b19ca42c18a0497");
  const derived = await promised((done) => crypto.scrypt("", "", 16, { N: 16, p: 1, r: 1 }, done));
  equal(derived.toString("hex"), "77d6576238657b203b19ca42c18a0497");
  equal(new Uint8Array(crypto.hkdfSync("sha256", new Uint8Array(22).fill(11), "", "", 4)).join(), "141,164,231,117");
  equal((await promised((done) => crypto.pbkdf2("a", "b", 100_000, 32, "sha512", done))).length, 32);
});

const PAIRS = [
  ["rsa", { modulusLength: 1024 }], ["rsa-pss", { modulusLength: 1024, hashAlgorithm: "sha256", saltLength: 16 }],
  ["ec", { namedCurve: "prime256v1" }], ["ec", { namedCurve: "secp256k1" }], ["ed25519"], ["ed448"], ["ml-dsa-44"],
];

test("pairs sign, verify and go through their forms", async () => {
  for (const [type, options] of PAIRS) {
    const { publicKey, privateKey } = await promised((done) =>
      crypto.generateKeyPair(type, options ?? {}, (error, publicKey, privateKey) => done(error, { publicKey, privateKey })));
    equal(publicKey.asymmetricKeyType, type);
    const sealed = privateKey.export({ format: "pem", type: "pkcs8", cipher: "aes-256-cbc", passphrase: "secret" });
    const opened = crypto.createPrivateKey({ key: sealed, passphrase: "secret" });
    ok(opened.equals(privateKey));
    throws(() => crypto.createPrivateKey(sealed), { code: "ERR_MISSING_PASSPHRASE" });
    const digest = type.startsWith("ed") || type.startsWith("ml") ? null : "sha256";
    const signature = crypto.sign(digest, text("data"), opened);
    equal(crypto.verify(digest, text("data"), publicKey.export({ format: "pem", type: "spki" }), signature), true, type);
    equal(crypto.verify(digest, text("date"), publicKey, signature), false, type);
    if (type === "rsa-pss" || type === "ml-dsa-44") continue;
    ok(crypto.createPrivateKey({ key: privateKey.export({ format: "jwk" }), format: "jwk" }).equals(privateKey), type);
  }
});

test("signatures are made piece by piece, in both encodings", () => {
  const { publicKey, privateKey } = crypto.generateKeyPairSync("ec", { namedCurve: "P-384" });
  const signature = crypto.createSign("SHA384").update("a").update("b").sign({ key: privateKey, dsaEncoding: "ieee-p1363" }, "base64");
  const verify = (data) => crypto.createVerify("sha384").update(data).verify({ key: publicKey, dsaEncoding: "ieee-p1363" }, signature, "base64");
  equal(verify("ab"), true);
  equal(verify("ba"), false);
});

test("RSA encrypts", () => {
  const { publicKey, privateKey } = crypto.generateKeyPairSync("rsa", { modulusLength: 1024 });
  const sealed = crypto.publicEncrypt({ key: publicKey, oaepHash: "sha256" }, text("hi"));
  equal(crypto.privateDecrypt({ key: privateKey, oaepHash: "sha256" }, sealed).toString(), "hi");
  throws(() => crypto.privateDecrypt(privateKey, sealed));
  equal(crypto.publicDecrypt(publicKey, crypto.privateEncrypt(privateKey, text("ho"))).toString(), "ho");
});

test("both sides agree", () => {
  const [alice, bob] = [crypto.createECDH("secp256k1"), crypto.createECDH("secp256k1")];
  alice.generateKeys();
  bob.generateKeys();
  equal(alice.computeSecret(bob.getPublicKey(null, "compressed")).toString("hex"), bob.computeSecret(alice.getPublicKey()).toString("hex"));
  throws(() => alice.computeSecret(new Uint8Array(33)), { code: "ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY" });
  const one = crypto.getDiffieHellman("modp14");
  const other = crypto.createDiffieHellman(one.getPrime(), one.getGenerator());
  one.generateKeys();
  other.generateKeys();
  equal(one.computeSecret(other.getPublicKey(), null, "hex"), other.computeSecret(one.getPublicKey(), null, "hex"));
  const pairs = [crypto.generateKeyPairSync("x25519"), crypto.generateKeyPairSync("x25519")];
  const secret = (own, theirs) => crypto.diffieHellman({ privateKey: own.privateKey, publicKey: theirs.publicKey }).toString("hex");
  equal(secret(pairs[0], pairs[1]), secret(pairs[1], pairs[0]));
});

test("keys pass to Web Cryptography and back", async () => {
  const { privateKey, publicKey } = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = privateKey.toCryptoKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
  equal(webcrypto, globalThis.crypto);
  const signature = await webcrypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key, text("data"));
  equal(crypto.verify("sha256", text("data"), { key: publicKey, dsaEncoding: "ieee-p1363" }, new Uint8Array(signature)), true);
  ok(crypto.KeyObject.from(key).equals(privateKey));
  equal(crypto.createSecretKey(text("abc")).export().toString(), "abc");
});

test("primes and random numbers", async () => {
  equal(crypto.checkPrimeSync(crypto.generatePrimeSync(64)), true);
  equal(crypto.checkPrimeSync(10n), false);
  equal(await promised((done) => crypto.checkPrime(7n, done)), true);
  for (let i = 0; i < 100; i++) ok(crypto.randomInt(3, 5) < 5);
  const filled = crypto.randomFillSync(new Uint8Array(100_000));
  ok(filled.subarray(90_000).some((byte) => byte !== 0));
  equal(crypto.timingSafeEqual(text("a"), text("a")), true);
  throws(() => crypto.timingSafeEqual(text("a"), text("ab")), { code: "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH" });
});

const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIB7TCCAZOgAwIBAgIUeqTug9P87iD0JCLVbHya8JK7IS8wCgYIKoZIzj0EAwIw
NDELMAkGA1UEBhMCREUxDzANBgNVBAoMBkhlYXJ0aDEUMBIGA1UEAwwLZXhhbXBs
ZS5jb20wIBcNMjYxMTE5MjIwMjQxWhgPMjEyNjEwMjYyMjAyNDFaMDQxCzAJBgNV
BAYTAkRFMQ8wDQYDVQQKDAZIZWFydGgxFDASBgNVBAMMC2V4YW1wbGUuY29tMFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE4N9xsNCxuFdQFoSd+BAfOPSzsWtAl8Ym
Sm3Oymx7rxYD2mDMliNinqR4zpQ5Oxx/QOTtFy7xJ/f4bnIjssNyW6OBgDB+MB0G
A1UdDgQWBBTG8xfpYxX/4ArL51+srQb778/MEzAfBgNVHSMEGDAWgBTG8xfpYxX/
4ArL51+srQb778/MEzArBgNVHREEJDAiggtleGFtcGxlLmNvbYINKi5leGFtcGxl
LmNvbYcEfwAAATAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIEGS
UKrmjOlfd92G7BOFkSZ0dfrSpUyDvh5kaMC+1fEoAiEAtudDCZ9tzA8yTUmSnL0o
C6GLnvhQ3Va14zTLNGl7BpE=
-----END CERTIFICATE-----
`;

test("a certificate tells what is in it", () => {
  const certificate = new crypto.X509Certificate(CERTIFICATE);
  equal(certificate.subject, "C=DE\nO=Hearth\nCN=example.com");
  equal(certificate.subjectAltName, "DNS:example.com, DNS:*.example.com, IP Address:127.0.0.1");
  equal(certificate.checkHost("a.example.com"), "*.example.com");
  equal(certificate.checkHost("a.b.example.com"), undefined);
  equal(certificate.checkIP("127.0.0.1"), "127.0.0.1");
  equal(certificate.verify(certificate.publicKey), true);
  equal(certificate.checkIssued(certificate), true);
  equal(certificate.ca, true);
  equal(certificate.toString(), CERTIFICATE);
  equal(certificate.toLegacyObject().subject.CN, "example.com");
  throws(() => new crypto.X509Certificate("nothing"), /PEM|asn1/i);
});

test("bombs are refused before they go off", async () => {
  throws(() => crypto.scryptSync("a", "b", 16, { N: 2 ** 24, r: 8, maxmem: 2 ** 40 }), /memory limit/);
  throws(() => crypto.pbkdf2Sync("a", "b", 2 ** 31 - 1, 64, "sha512"), /CPU time/);
  throws(() => crypto.generatePrimeSync(100_000, { safe: true }), /CPU time/);
  throws(() => crypto.checkPrimeSync(new Uint8Array(1 << 20).fill(255)), /CPU time/);
  throws(() => crypto.generateKeyPairSync("rsa", { modulusLength: 2 ** 20 }), /CPU time/);
  throws(() => crypto.createHash("shake128", { outputLength: 2 ** 32 - 1 }), /memory limit/);
  throws(() => crypto.createDiffieHellman(10_000), /CPU time/);
  throws(() => crypto.argon2Sync("argon2id", { message: "a", nonce: "12345678", parallelism: 1, tagLength: 16, memory: 2 ** 31, passes: 1 }), /memory limit/);
  await rejects(promised((done) => crypto.pbkdf2("a", "b", 2 ** 31 - 1, 64, "sha512", done)), /CPU time/);
});

test("what is none of a key's is refused", () => {
  for (const key of [1, true, {}, { key: 5 }, [], null, undefined, Symbol.iterator, () => 1, { key: "x", format: "jwk" }]) {
    throws(() => crypto.createPrivateKey(key));
    throws(() => crypto.createPublicKey(key));
    throws(() => crypto.createSign("sha256").sign(key));
    throws(() => crypto.sign("sha256", text("a"), key));
    throws(() => new crypto.KeyObject("secret", key));
  }
  throws(() => crypto.KeyObject.prototype.equals.call({}, {}));
  same(Object.getOwnPropertySymbols(crypto.createSecretKey(text("a"))), []);
});

test("CCM authenticates an empty text, too", () => {
  for (const update of [true, false]) {
    const options = { authTagLength: 16 };
    const [key, nonce] = [Buffer.alloc(16, 1), Buffer.alloc(12, 2)];
    const seal = crypto.createCipheriv("aes-128-ccm", key, nonce, options);
    seal.setAAD(Buffer.from("head"), { plaintextLength: 0 });
    equal(seal.update("").length, 0);
    equal(seal.final().length, 0);
    const tag = seal.getAuthTag();
    equal(tag.length, 16);
    const open = (given) => {
      const cipher = crypto.createDecipheriv("aes-128-ccm", key, nonce, options);
      cipher.setAAD(Buffer.from("head"), { plaintextLength: 0 });
      cipher.setAuthTag(given);
      if (update) cipher.update("");
      return cipher.final();
    };
    equal(open(tag).length, 0);
    tag[0] ^= 1;
    throws(() => open(tag), { message: "Unsupported state or unable to authenticate data" });
    throws(() => crypto.createCipheriv("aes-128-ccm", key, nonce, options).final(), { code: "ERR_OSSL_TAG_NOT_SET" });
  }
});

test("a hash that was a stream gives its digest again", async () => {
  const hash = crypto.createHash("sha256");
  const chunks = [];
  hash.on("data", (chunk) => chunks.push(chunk));
  await new Promise((resolve) => hash.on("end", resolve).end("abc"));
  const expected = crypto.createHash("sha256").update("abc").digest("hex");
  equal(Buffer.concat(chunks).toString("hex"), expected);
  chunks[0].fill(0);
  equal(hash.digest("hex"), expected);
  throws(() => hash.digest(), { code: "ERR_CRYPTO_HASH_FINALIZED" });
});

test("deprecated calls warn once", async () => {
  const seen = [];
  const listen = ({ code }) => seen.push(code);
  process.on("warning", listen);
  crypto.Hmac("sha256", "k");
  crypto.Hmac("sha256", "k");
  throws(() => crypto.createECDH("prime256v1").setPublicKey(Buffer.from([1])), {});
  await new Promise((resolve) => setTimeout(resolve));
  process.off("warning", listen);
  same(seen, ["DEP0181", "DEP0031"]);
});

test("arguments that OpenSSL cannot take", () => {
  throws(() => crypto.createDiffieHellman(Buffer.from([23]), Buffer.from([23])), { code: "ERR_OSSL_DH_BAD_GENERATOR" });
  ok(crypto.createDiffieHellman("02", "hex").verifyError !== 0);
  throws(() => crypto.hash("sha224", "", { outputLength: 32 }), { message: /does not support XOF/ });
  let reads = 0;
  throws(() => crypto.scryptSync("", "", 1, { get N() { return ++reads === 1 ? "" : 16; } }), { code: "ERR_INVALID_ARG_TYPE" });
});
