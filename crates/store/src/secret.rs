//! Secrets: values that only one app may see, as parts of its `env`. They are encrypted at rest;
//! their names are not.

use hearth_core::{AppName, ByteSize};

use crate::error::StoreError;

const MAX_NAME_BYTES: usize = 128;
const MAX_VALUE_SIZE: ByteSize = ByteSize::kb(64);

/// Why a secret cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    #[error(
        "{name:?} cannot be the name of a secret: use letters, digits and _, not a digit first, at most {MAX_NAME_BYTES}"
    )]
    Name { name: String },
    #[error("the value of {name} has {size} bytes: a secret can have {} ({MAX_VALUE_SIZE})", MAX_VALUE_SIZE.bytes())]
    Value { name: String, size: u64 },
}

pub trait Secrets {
    /// Sets a secret, new or existing.
    fn set_secret(&self, app: &AppName, name: &str, value: &str) -> Result<(), StoreError>;

    fn delete_secret(&self, app: &AppName, name: &str) -> Result<(), StoreError>;

    fn secret_names(&self, app: &AppName) -> Result<Vec<String>, StoreError>;

    /// Names and values, ordered by name.
    fn secrets(&self, app: &AppName) -> Result<Vec<(String, String)>, StoreError>;
}

pub(crate) fn check(name: &str, value: &str) -> Result<(), SecretError> {
    let mut letters = name.bytes();
    let first = letters.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if !first || name.len() > MAX_NAME_BYTES || !letters.all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Err(SecretError::Name { name: name.chars().take(MAX_NAME_BYTES + 1).collect() });
    }
    let size = value.len() as u64;
    if size > MAX_VALUE_SIZE.bytes() {
        return Err(SecretError::Value { name: name.to_owned(), size });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_variables() {
        for name in ["A", "_", "DATABASE_URL", "a1", &"x".repeat(128)] {
            assert_eq!(check(name, ""), Ok(()), "{name}");
        }
        for name in ["", "1A", "A-B", "A B", "A=B", "É", "A\0", "A\n", &"x".repeat(129)] {
            assert!(matches!(check(name, ""), Err(SecretError::Name { .. })), "{name}");
        }
    }

    #[test]
    fn values_are_bounded() {
        assert_eq!(check("A", &"x".repeat(64 << 10)), Ok(()));
        let fault = check("A", &"x".repeat((64 << 10) + 1)).unwrap_err();
        assert_eq!(fault.to_string(), "the value of A has 65537 bytes: a secret can have 65536 (64kb)");
    }
}
