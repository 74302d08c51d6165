//! Tokens for apps whose manifest has `auth: token`. A token is shown once, when it is created. The
//! store keeps its SHA-256, which is useless to a reader of the database: a token is 32 random
//! bytes, so no slow hash is needed.

use std::fmt;
use std::time::SystemTime;

use hearth_core::AppName;
use sha2::{Digest, Sha256};

use crate::error::StoreError;
use crate::random::random;
use hearth_core::hex;

/// The token's id in the admin API. Ids of deleted tokens are not reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(pub u64);

/// A token in the clear. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct PlainToken(String);

/// SHA-256 of a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

/// What is known of a token after its creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredToken {
    pub id: TokenId,
    pub label: String,
    pub created_at: SystemTime,
}

pub trait Tokens {
    fn add_token(&self, app: &AppName, label: &str) -> Result<(TokenId, PlainToken), StoreError>;

    fn delete_token(&self, app: &AppName, id: TokenId) -> Result<(), StoreError>;

    /// In order of creation.
    fn tokens(&self, app: &AppName) -> Result<Vec<StoredToken>, StoreError>;

    fn token_hashes(&self, app: &AppName) -> Result<Vec<TokenHash>, StoreError>;
}

// === impl PlainToken ===

impl PlainToken {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// A new token: `hearth_` and 64 hexadecimal digits.
    pub(crate) fn random() -> Result<Self, StoreError> {
        let bytes: [u8; 32] = random()?;
        Ok(Self(format!("hearth_{}", hex::encode(&bytes))))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PlainToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlainToken(…)")
    }
}

// === impl TokenHash ===

impl TokenHash {
    /// The hash of what a client sent.
    pub fn from_token(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenHash({}…)", hex::encode(&self.0[..4]))
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
