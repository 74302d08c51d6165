// @noble/hashes and @noble/curves: known values, signatures and key agreement.
import { ed25519, x25519 } from "@noble/curves/ed25519.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { blake3 } from "@noble/hashes/blake3.js";
import { hmac } from "@noble/hashes/hmac.js";
import { scrypt } from "@noble/hashes/scrypt.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { program } from "../program.js";

export default program((same) => {
  same("sha256", bytesToHex(sha256(utf8ToBytes("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  same("keccak", bytesToHex(keccak_256(new Uint8Array())), "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
  same("blake3", bytesToHex(blake3(new Uint8Array())).slice(0, 16), "af1349b9f5f9a1a6");
  same("hmac", bytesToHex(hmac(sha256, utf8ToBytes("key"), utf8ToBytes("data"))).slice(0, 8), "5031fe3d");
  same("scrypt", bytesToHex(scrypt("", "", { N: 16, r: 1, p: 1, dkLen: 64 })).slice(0, 16), "77d6576238657b20");
  const key = hexToBytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  same("ed25519", bytesToHex(ed25519.getPublicKey(key)), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  const message = utf8ToBytes("message");
  same("signed", ed25519.verify(ed25519.sign(message, key), message, ed25519.getPublicKey(key)), true);
  const [a, b] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  same("x25519", x25519.getSharedSecret(a, x25519.getPublicKey(b)), x25519.getSharedSecret(b, x25519.getPublicKey(a)));
  same("secp256k1", bytesToHex(secp256k1.getPublicKey(hexToBytes("0".repeat(63) + "1"))), "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798");
});
