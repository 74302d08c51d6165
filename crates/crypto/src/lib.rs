//! The algorithms of Web Cryptography (https://w3c.github.io/webcrypto/), without V8: bytes and keys in, bytes and keys out.
//! The runtime's `ops/crypto` calls this crate; `js/crypto` checks and normalises what apps pass.
//!
//! | file | content |
//! |---|---|
//! | `operation.rs` | [`Operation`]: everything that can be computed, what it costs, and how it is run |
//! | `key.rs` | [`CryptoKey`]: a secret, or one half of a key pair; formats that all kinds share |
//! | `rsa.rs`, `ec.rs`, `okp.rs` | key pairs by kind: generation, formats, signatures, agreement, encryption |
//! | `jwk.rs` | the members of JSON Web Keys, as base64url |
//! | `hash.rs`, `mac.rs`, `cipher.rs`, `derive.rs` | digests, HMAC, AES and ChaCha20, derivation of bits |
//! | `node/` | what Node's `crypto` has beyond that: streams, all formats of keys, certificates |
//! | `error.rs` | [`CryptoError`]: named as the DOMException that the app sees |
//!
//! Why OpenSSL (the `openssl` crate, built from source): the standard's algorithms have parameters that `ring` and
//! `aws-lc-rs` leave out (initialisation vectors of any length, short tags, any salt length of RSA-PSS, RSA keys by their
//! components, P-521, AES-192), the crates of RustCrypto are several times slower for RSA and P-256, and Node's `crypto`
//! module is defined by what OpenSSL does. All calls go through that crate's safe functions.
//!
//! Invariant: nothing here panics, whatever the bytes; keys that cannot be used are refused where they are made.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cipher;
mod derive;
mod ec;
mod error;
mod hash;
mod jwk;
mod key;
mod mac;
pub mod node;
mod okp;
mod operation;
mod rsa;

pub use cipher::{Aead, Cipher};
pub use ec::Curve;
pub use error::CryptoError;
pub use hash::Hash;
pub use jwk::JwkMembers;
pub use key::{CryptoKey, KeyFormat, KeyKind, KeyPair};
pub use mac::constant_time_eq;
pub use okp::OkpCurve;
pub use operation::{Operation, Output};
pub use rsa::{RsaPadding, RsaParameters};
