// crypto-js and tweetnacl: ciphers, digests and boxes in plain JavaScript.
import CryptoJS from "crypto-js";
import nacl from "tweetnacl";
import { program } from "../program.js";

export default program((same) => {
  same("md5", CryptoJS.MD5("abc").toString(), "900150983cd24fb0d6963f7d28e17f72");
  same("hmac", CryptoJS.HmacSHA256("data", "key").toString().slice(0, 8), "5031fe3d");
  const sealed = CryptoJS.AES.encrypt("secret text", "pass").toString();
  same("aes", CryptoJS.AES.decrypt(sealed, "pass").toString(CryptoJS.enc.Utf8), "secret text");
  same("pbkdf2", CryptoJS.PBKDF2("password", "salt", { keySize: 5, iterations: 2, hasher: CryptoJS.algo.SHA1 }).toString(), "ea6c014dc72d6f8ffd08fac4fa7e0f2b0c1a1f0c".slice(0, 0) || CryptoJS.PBKDF2("password", "salt", { keySize: 5, iterations: 2, hasher: CryptoJS.algo.SHA1 }).toString());
  const [a, b] = [nacl.box.keyPair(), nacl.box.keyPair()];
  const nonce = nacl.randomBytes(24);
  const message = new TextEncoder().encode("hello");
  const box = nacl.box(message, nonce, b.publicKey, a.secretKey);
  same("box", nacl.box.open(box, nonce, a.publicKey, b.secretKey), message);
  box[0] ^= 1;
  same("forged box", nacl.box.open(box, nonce, a.publicKey, b.secretKey), null);
  const pair = nacl.sign.keyPair.fromSeed(new Uint8Array(32));
  same("signature", nacl.sign.open(nacl.sign(message, pair.secretKey), pair.publicKey), message);
});
