// web-push: VAPID keys and an encrypted message for a subscription.
import { createECDH, randomBytes } from "node:crypto";
import webpush from "web-push";
import { program } from "../program.js";

export default program((same) => {
  const { publicKey, privateKey } = webpush.generateVAPIDKeys();
  same("keys", [Buffer.from(publicKey, "base64url").length, Buffer.from(privateKey, "base64url").length], [65, 32]);
  const curve = createECDH("prime256v1");
  const keys = { p256dh: curve.generateKeys("base64url"), auth: randomBytes(16).toString("base64url") };
  const details = webpush.generateRequestDetails({ endpoint: "https://push.example.com/x", keys }, "hello", { vapidDetails: { subject: "mailto:a@b.co", publicKey, privateKey }, TTL: 5, contentEncoding: "aes128gcm" });
  same("request", [details.method, details.headers.TTL, details.headers["Content-Encoding"], details.headers.Authorization.startsWith("vapid t="), details.body.length > 100], ["POST", 5, "aes128gcm", true, true]);
});
