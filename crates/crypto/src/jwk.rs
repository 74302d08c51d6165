//! The members of JSON Web Keys (RFC 7517, 7518, 8037), as base64url texts.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openssl::bn::{BigNum, BigNumRef};

use crate::CryptoError;

/// The members that hold key material, by name: `n`, `e`, `d`, `p`, `q`, `dp`, `dq`, `qi`, `x`, `y`, `k`. The others (`kty`,
/// `crv`, `alg`, `use`, `key_ops`, `ext`) are the caller's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JwkMembers(Vec<(&'static str, String)>);

const NAMES: [&str; 11] = ["n", "e", "d", "p", "q", "dp", "dq", "qi", "x", "y", "k"];

impl JwkMembers {
    /// Names and values; those that hold no key material are left out.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        let known = pairs.into_iter().filter_map(|(name, value)| {
            let name = NAMES.iter().find(|known| **known == name)?;
            Some((*name, value))
        });
        Self(known.collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(name, value)| (*name, value.as_str()))
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == name)
    }

    pub(crate) fn set(&mut self, name: &'static str, bytes: &[u8]) {
        self.0.push((name, URL_SAFE_NO_PAD.encode(bytes)));
    }

    /// A number without leading zeros, as keys of RSA have them.
    pub(crate) fn set_number(&mut self, name: &'static str, number: &BigNumRef) {
        self.set(name, &number.to_vec());
    }

    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>, CryptoError> {
        let member = self.0.iter().find(|(known, _)| *known == name);
        let (_, text) = member.ok_or_else(|| CryptoError::data(format!("the key has no member \"{name}\"")))?;
        URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| CryptoError::data(format!("the key's member \"{name}\" is not base64url")))
    }

    pub(crate) fn number(&self, name: &str) -> Result<BigNum, CryptoError> {
        let bytes = self.bytes(name)?;
        if bytes.is_empty() {
            return Err(CryptoError::data(format!("the key's member \"{name}\" is empty")));
        }
        Ok(BigNum::from_slice(&bytes)?)
    }
}
