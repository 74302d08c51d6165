//! Tokens that let clients in where an app's manifest says `auth: token`. A token is shown once, when it is made; what
//! is kept is its SHA-256, which is enough to recognise it and of no use to who reads the database: a token is 32
//! random bytes, too many to guess, so no slow hash is needed.

use std::fmt;
use std::time::SystemTime;

use hearth_core::AppName;
use sha2::{Digest, Sha256};

use crate::error::StoreError;
use crate::hex;

/// What a token is called in the admin API. Never used again after a token was deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(pub u64);

/// A token in the clear. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct PlainToken(String);

/// SHA-256 of a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash(pub [u8; 32]);

/// All that is known of a token after it was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: TokenId,
    pub label: String,
    pub created_at: SystemTime,
}

pub trait Tokens {
    fn add_token(&self, app: &AppName, label: &str) -> Result<(TokenId, PlainToken), StoreError>;

    fn delete_token(&self, app: &AppName, id: TokenId) -> Result<(), StoreError>;

    /// In the order in which they were made.
    fn tokens(&self, app: &AppName) -> Result<Vec<Token>, StoreError>;

    fn token_hashes(&self, app: &AppName) -> Result<Vec<TokenHash>, StoreError>;
}

// === impl PlainToken ===

impl PlainToken {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// A token that nobody has yet: `hearth_` and 64 hexadecimal digits.
    pub(crate) fn random() -> Result<Self, StoreError> {
        let bytes: [u8; 32] = hex::random()?;
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
    /// Of what a client sent.
    pub fn of(token: &str) -> Self {
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
