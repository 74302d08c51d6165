//! Digests and HMAC, piece by piece. A state is small, whatever it is fed.

use std::fmt;

use openssl::hash::{Hasher, MessageDigest};
use openssl::nid::Nid;
use openssl::pkey::PKey;
use openssl::sign::Signer;

use super::{NodeError, Result};
use crate::CryptoError;

/// A digest of OpenSSL's, by any of its names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub(super) MessageDigest);

/// The names that `getHashes` gives.
pub const DIGEST_NAMES: &[&str] = &[
    "RSA-MD5",
    "RSA-RIPEMD160",
    "RSA-SHA1",
    "RSA-SHA1-2",
    "RSA-SHA224",
    "RSA-SHA256",
    "RSA-SHA3-224",
    "RSA-SHA3-256",
    "RSA-SHA3-384",
    "RSA-SHA3-512",
    "RSA-SHA384",
    "RSA-SHA512",
    "RSA-SHA512/224",
    "RSA-SHA512/256",
    "RSA-SM3",
    "blake2b512",
    "blake2s256",
    "id-rsassa-pkcs1-v1_5-with-sha3-224",
    "id-rsassa-pkcs1-v1_5-with-sha3-256",
    "id-rsassa-pkcs1-v1_5-with-sha3-384",
    "id-rsassa-pkcs1-v1_5-with-sha3-512",
    "md5",
    "md5-sha1",
    "md5WithRSAEncryption",
    "ripemd",
    "ripemd160",
    "ripemd160WithRSA",
    "rmd160",
    "sha1",
    "sha1WithRSAEncryption",
    "sha224",
    "sha224WithRSAEncryption",
    "sha256",
    "sha256WithRSAEncryption",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "sha384",
    "sha384WithRSAEncryption",
    "sha512",
    "sha512-224",
    "sha512-224WithRSAEncryption",
    "sha512-256",
    "sha512-256WithRSAEncryption",
    "sha512WithRSAEncryption",
    "shake128",
    "shake256",
    "sm3",
    "sm3WithRSAEncryption",
    "ssl3-md5",
    "ssl3-sha1",
];

/// OpenSSL counts in an `int` in places.
const MAX_PIECE: usize = 1 << 30;

impl Digest {
    pub fn from_name(name: &str) -> Option<Self> {
        // A name of old for SHA-1, which OpenSSL itself has forgotten.
        let name = if name.eq_ignore_ascii_case("dss1") { "sha1" } else { name };
        MessageDigest::from_name(name).map(Self)
    }

    pub(crate) fn required(name: &str) -> std::result::Result<Self, CryptoError> {
        Self::from_name(name)
            .ok_or_else(|| CryptoError::Node(format!("ERR_CRYPTO_INVALID_DIGEST: Invalid digest: {name}")))
    }

    pub fn named(name: &str) -> std::result::Result<Self, CryptoError> {
        Self::required(name)
    }

    /// Of the digest; for functions of any length the one that they used to have.
    pub fn bytes(self) -> usize {
        match self.0.type_() {
            Nid::SHAKE128 => 16,
            Nid::SHAKE256 => 32,
            _ => self.0.size(),
        }
    }

    pub(super) fn is_xof(self) -> bool {
        matches!(self.0.type_(), Nid::SHAKE128 | Nid::SHAKE256)
    }

    pub(super) fn digest(self, data: &[u8], bytes: Option<usize>) -> Result<Vec<u8>> {
        let mut state = HashState::create(self, bytes)?;
        state.feed(data)?;
        state.finish_bytes()
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.0.type_().long_name().unwrap_or("?"))
    }
}

/// A hash that is being computed.
pub struct HashState {
    digest: Digest,
    hasher: Hasher,
    bytes: usize,
}

impl HashState {
    /// `bytes` is for functions of any length; others have their own.
    pub fn new(digest: Digest, bytes: Option<usize>) -> std::result::Result<Self, CryptoError> {
        Ok(Self::create(digest, bytes)?)
    }

    fn create(digest: Digest, bytes: Option<usize>) -> Result<Self> {
        let hasher = Hasher::new(digest.0)?;
        let bytes = match bytes {
            Some(bytes) if digest.is_xof() || bytes == digest.bytes() => bytes,
            // Functions of any length have no length of their own since OpenSSL 3.4.
            Some(_) => {
                return Err(NodeError::plain("error:030000B2:digital envelope routines::not XOF or invalid length"));
            }
            None if digest.is_xof() => {
                return Err(NodeError::plain("error:030000B2:digital envelope routines::not XOF or invalid length"));
            }
            None => digest.bytes(),
        };
        Ok(Self { digest, hasher, bytes })
    }

    pub fn update(&mut self, data: &[u8]) -> std::result::Result<(), CryptoError> {
        Ok(self.feed(data)?)
    }

    fn feed(&mut self, data: &[u8]) -> Result<()> {
        for piece in data.chunks(MAX_PIECE) {
            self.hasher.update(piece)?;
        }
        Ok(())
    }

    /// Another one that goes on from here.
    pub fn fork(&self, bytes: Option<usize>) -> std::result::Result<Self, CryptoError> {
        let bytes = bytes.or(self.digest.is_xof().then_some(self.bytes));
        let checked = Self::create(self.digest, bytes)?;
        Ok(Self { hasher: self.hasher.clone(), ..checked })
    }

    pub fn finish(self) -> std::result::Result<Vec<u8>, CryptoError> {
        Ok(self.finish_bytes()?)
    }

    fn finish_bytes(mut self) -> Result<Vec<u8>> {
        if !self.digest.is_xof() {
            return Ok(self.hasher.finish()?.to_vec());
        }
        let mut out = vec![0; self.bytes];
        if !out.is_empty() {
            self.hasher.finish_xof(&mut out)?;
        }
        Ok(out)
    }

    pub fn output_bytes(&self) -> usize {
        self.bytes
    }
}

/// An HMAC that is being computed.
pub struct HmacState(Signer<'static>);

impl HmacState {
    pub fn new(digest: Digest, key: &[u8]) -> std::result::Result<Self, CryptoError> {
        Ok(Self::create(digest, key)?)
    }

    fn create(digest: Digest, key: &[u8]) -> Result<Self> {
        if digest.is_xof() {
            return Err(NodeError::plain("error:030000B7:digital envelope routines::XOF digests are not for HMAC"));
        }
        // OpenSSL takes no empty key; HMAC pads keys with zeros, so one zero byte is the same key.
        let key = PKey::hmac(if key.is_empty() { &[0] } else { key })?;
        Ok(Self(Signer::new(digest.0, &key)?))
    }

    pub fn update(&mut self, data: &[u8]) -> std::result::Result<(), CryptoError> {
        self.0.update(data).map_err(NodeError::from)?;
        Ok(())
    }

    pub fn finish(self) -> std::result::Result<Vec<u8>, CryptoError> {
        Ok(self.0.sign_to_vec().map_err(NodeError::from)?)
    }
}
