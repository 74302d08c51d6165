//! Values that only one app may see, as parts of its `env`. At rest they are encrypted; names are not secret.

use hearth_core::{AppName, ByteSize};

use crate::error::StoreError;

const LONGEST_NAME: usize = 128;
const LARGEST_VALUE: ByteSize = ByteSize::kb(64);

/// What is wrong with a secret that shall be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretFault {
    #[error(
        "{name:?} cannot be the name of a secret: use letters, digits and _, not a digit first, at most {LONGEST_NAME}"
    )]
    Name { name: String },
    #[error("the value of {name} has {size} bytes: a secret can have {} ({LARGEST_VALUE})", LARGEST_VALUE.bytes())]
    Value { name: String, size: u64 },
}

pub trait Secrets {
    /// Sets a secret, whether or not there was one of that name.
    fn set_secret(&self, app: &AppName, name: &str, value: &str) -> Result<(), StoreError>;

    fn delete_secret(&self, app: &AppName, name: &str) -> Result<(), StoreError>;

    fn secret_names(&self, app: &AppName) -> Result<Vec<String>, StoreError>;

    /// Names and values, in the order of their names.
    fn secrets(&self, app: &AppName) -> Result<Vec<(String, String)>, StoreError>;
}

pub(crate) fn check(name: &str, value: &str) -> Result<(), SecretFault> {
    let mut letters = name.bytes();
    let first = letters.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if !first || name.len() > LONGEST_NAME || !letters.all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Err(SecretFault::Name { name: name.chars().take(LONGEST_NAME + 1).collect() });
    }
    let size = value.len() as u64;
    if size > LARGEST_VALUE.bytes() {
        return Err(SecretFault::Value { name: name.to_owned(), size });
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
            assert!(matches!(check(name, ""), Err(SecretFault::Name { .. })), "{name}");
        }
    }

    #[test]
    fn values_are_bounded() {
        assert_eq!(check("A", &"x".repeat(64 << 10)), Ok(()));
        let fault = check("A", &"x".repeat((64 << 10) + 1)).unwrap_err();
        assert_eq!(fault.to_string(), "the value of A has 65537 bytes: a secret can have 65536 (64kb)");
    }
}
