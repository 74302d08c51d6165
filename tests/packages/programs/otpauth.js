// otpauth: one-time passwords by counter and by time.
import { HOTP, Secret, TOTP, URI } from "otpauth";
import { program } from "../program.js";

export default program((same) => {
  const secret = Secret.fromLatin1("12345678901234567890");
  const hotp = new HOTP({ secret, digits: 6 });
  same("hotp", [0, 1, 9].map((counter) => hotp.generate({ counter })), ["755224", "287082", "520489"]);
  const totp = new TOTP({ issuer: "ACME", label: "Ada", secret, digits: 8, algorithm: "SHA1" });
  same("totp", totp.generate({ timestamp: 59_000 }), "94287082");
  same("window", totp.validate({ token: "94287082", timestamp: 89_000, window: 1 }), -1);
  same("address", URI.parse(totp.toString()).label, "Ada");
  same("base32", secret.base32, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
});
