import tls from "node:tls";
import { Buffer } from "node:buffer";
import { PassThrough } from "node:stream";
import { equal, ok, same, test, throws } from "./harness.js";
export { default } from "./harness.js";

test("a certificate is for the hosts that it names", () => {
  const check = (host, cert) => tls.checkServerIdentity(host, cert);
  const cert = { subject: { CN: "ignored.example" }, subjectaltname: "DNS:a.example, DNS:*.b.example, IP Address:10.0.0.1" };
  for (const host of ["a.example", "A.EXAMPLE.", "x.b.example", "10.0.0.1"]) equal(check(host, cert), undefined, host);
  for (const host of ["ignored.example", "b.example", "x.y.b.example", "10.0.0.2", "xa.example"]) {
    const error = check(host, cert);
    equal(error?.code, "ERR_TLS_CERT_ALTNAME_INVALID", host);
    equal(error.host, host);
  }
  equal(check("c.example", { subject: { CN: "c.example" } }), undefined);
  ok(check("c.example", { subject: { CN: "*.example" } }) !== undefined, "a star for all of a domain");
});

test("protocols have their lengths in front", () => {
  const out = {};
  tls.convertALPNProtocols(["h2", "http/1.1"], out);
  equal(out.ALPNProtocols.toString("latin1"), "\x02h2\x08http/1.1");
  throws(() => tls.convertALPNProtocols(["a".repeat(256)], {}), { code: "ERR_OUT_OF_RANGE" });
});

test("settings that cannot be used are refused at once", () => {
  throws(() => tls.createSecureContext({ minVersion: "TLSv9" }), { code: "ERR_TLS_INVALID_PROTOCOL_VERSION" });
  throws(() => tls.createSecureContext({ ca: 5 }), { code: "ERR_INVALID_ARG_TYPE" });
  throws(() => tls.createSecureContext({ pfx: "x" }), /pfx/);
  throws(() => tls.createServer(), /servers with TLS/);
});

test("a peer that does not speak TLS is no peer", async () => {
  // What is written comes back: the server's answer is the client's own greeting.
  const socket = tls.connect({ socket: new PassThrough(), servername: "a.example" });
  const error = await new Promise((resolve) => socket.once("error", resolve));
  ok(typeof error.code === "string", error.message);
  equal(socket.authorized, false);
});

test("settings are bounded", async () => {
  const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----";
  for (const [options, message] of [
    [{ ca: Buffer.alloc(2 << 20) }, /1 MB at the most/],
    [{ ca: Array(5).fill(Buffer.alloc(300_000)) }, /1 MB at the most/],
    [{ ca: Array(600).fill(pem) }, /512 certificates/],
    [{ ALPNProtocols: Array(17).fill("h2") }, /16 protocols/],
    [{ ALPNProtocols: [""] }, /16 protocols|1 to 255/],
    [{ servername: "a".repeat(300) }, /255 bytes/],
  ]) {
    const socket = tls.connect({ socket: new PassThrough(), servername: "a.example", ...options });
    const error = await new Promise((resolve) => socket.once("error", resolve));
    ok(message.test(error.message), error.message);
  }
});

test("a long list of certificates is read", async () => {
  const ca = Array(500).fill(Buffer.alloc(2000));
  const socket = tls.connect({ socket: new PassThrough(), servername: "a.example", ca });
  const error = await new Promise((resolve) => socket.once("error", resolve));
  ok(typeof error.code === "string", error.message);
});

test("certificates that are none are refused", async () => {
  const socket = tls.connect({ socket: new PassThrough(), ca: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----" });
  const error = await new Promise((resolve) => socket.once("error", resolve));
  same(typeof error.message, "string");
});
