"use strict";
// node:tls (https://nodejs.org/api/tls.html): secure connections to servers, by rustls, also over a connection that there is already.
//
// Deviations: TLS 1.2 and 1.3 with rustls' own ciphers and groups, whatever is asked for; no session resumption, no pfx, no
// encrypted keys, no CRLs, no renegotiation, no PSK. Servers (`createServer`) are not there: the platform in front of an app ends TLS.
// The built-in authorities are Mozilla's and the operator's; they cannot be listed, so rootCertificates is empty.

const { TLSSocket, connect } = require("internal/tls/socket");
const { SecureContext, createSecureContext } = require("internal/tls/context");
const { checkServerIdentity, convertALPNProtocols } = require("internal/tls/identity");

const CIPHERS = [
  "tls_aes_256_gcm_sha384", "tls_aes_128_gcm_sha256", "tls_chacha20_poly1305_sha256", "ecdhe-ecdsa-aes256-gcm-sha384",
  "ecdhe-ecdsa-aes128-gcm-sha256", "ecdhe-ecdsa-chacha20-poly1305", "ecdhe-rsa-aes256-gcm-sha384",
  "ecdhe-rsa-aes128-gcm-sha256", "ecdhe-rsa-chacha20-poly1305",
];

function notHere() {
  throw new Error("node:tls: servers with TLS cannot be made in Hearth: the platform ends TLS in front of an app");
}

module.exports = {
  CLIENT_RENEG_LIMIT: 3,
  CLIENT_RENEG_WINDOW: 600,
  DEFAULT_CIPHERS: CIPHERS.map((cipher) => cipher.toUpperCase()).join(":"),
  DEFAULT_ECDH_CURVE: "auto",
  DEFAULT_MAX_VERSION: "TLSv1.3",
  DEFAULT_MIN_VERSION: "TLSv1.2",
  SecureContext,
  Server: notHere,
  TLSSocket,
  checkServerIdentity,
  connect,
  convertALPNProtocols,
  createSecureContext,
  createServer: notHere,
  getCiphers: () => [...CIPHERS],
  rootCertificates: Object.freeze([]),
};
