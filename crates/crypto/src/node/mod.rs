//! What Node's `crypto` (https://nodejs.org/api/crypto.html) has beyond Web Cryptography, without V8.
//!
//! | file | content |
//! |---|---|
//! | `computation.rs` | [`Computation`]: what may take long, what it costs, and how it is run |
//! | `digest.rs`, `cipher.rs` | hashes, HMAC and ciphers that are fed piece by piece |
//! | `read.rs`, `write.rs`, `jwk.rs` | keys from and to PEM, DER and JSON Web Keys; what a key is |
//! | `signature.rs`, `rsa_cipher.rs` | signatures of all kinds of keys, encryption with RSA |
//! | `pairs.rs`, `primes.rs`, `dh.rs` | generation, Diffie-Hellman |
//! | `certificate.rs` | X.509 certificates |
//! | `der.rs` | the little of DER that OpenSSL's safe functions do not give |
//! | `pem.rs` | a block of PEM |
//!
//! Unlike Web Cryptography, Node passes on what OpenSSL says of a failure: [`NodeError`].

mod certificate;
mod cipher;
mod computation;
pub(crate) mod der;
mod dh;
mod digest;
mod jwk;
mod pairs;
mod pem;
mod primes;
mod read;
mod rsa_cipher;
mod signature;
mod write;

use openssl::error::ErrorStack;

use crate::CryptoError;

pub use certificate::{CertificateFields, X509Certificate};
pub use cipher::{CipherDirection, CipherInfo, CipherState, cipher_info, cipher_names};
pub use computation::{Argon2, Computation, KdfInput};
pub use dh::{DhGroup, curve_names, ecdh_convert, ecdh_public, modp_group};
pub use digest::{DIGEST_NAMES, Digest, HashState, HmacState};
pub use jwk::{from_jwk, to_jwk};
pub use pairs::PairSpec;
pub use read::{KeyText, read_private, read_public};
pub use rsa_cipher::{RsaCipher, RsaUse};
pub use signature::{SignatureOptions, Signed};
pub use write::{Encryption, KeyDetails, details, equals, key_type, write_private, write_public};

/// A failure as Node tells it.
#[derive(Debug)]
pub(crate) enum NodeError {
    OpenSsl(ErrorStack),
    Other(CryptoError),
}

pub(crate) type Result<T> = std::result::Result<T, NodeError>;

impl NodeError {
    /// One of Node's codes, and a message.
    pub(crate) fn coded(code: &str, message: impl std::fmt::Display) -> Self {
        Self::Other(CryptoError::Node(format!("{code}: {message}")))
    }

    pub(crate) fn plain(message: impl std::fmt::Display) -> Self {
        Self::Other(CryptoError::Node(message.to_string()))
    }
}

impl From<ErrorStack> for NodeError {
    fn from(errors: ErrorStack) -> Self {
        Self::OpenSsl(errors)
    }
}

impl From<CryptoError> for NodeError {
    fn from(error: CryptoError) -> Self {
        Self::Other(error)
    }
}

/// The lines are `error:1C800064:Provider routines::bad decrypt`, as OpenSSL writes them itself.
impl From<NodeError> for CryptoError {
    fn from(error: NodeError) -> Self {
        match error {
            NodeError::Other(error) => error,
            NodeError::OpenSsl(errors) => {
                let line = |error: &openssl::error::Error| {
                    let (library, reason) = (error.library().unwrap_or("lib(0)"), error.reason().unwrap_or("unknown"));
                    format!("error:{:08X}:{library}::{reason}", error.code())
                };
                Self::Node(errors.errors().iter().map(line).collect::<Vec<_>>().join("\n"))
            }
        }
    }
}
