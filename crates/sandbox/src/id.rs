//! Ids of sandboxes, jobs and sessions. Ids of sandboxes and jobs are random UUIDs (version 4): the
//! id of another session's sandbox cannot be guessed, and none is ever used twice.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::SandboxError;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SandboxId([u8; 16]);

/// A command that runs without a waiting caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId([u8; 16]);

/// The owner of sandboxes: an MCP session, for example. Sessions do not see each other's.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(Arc<str>);

/// On whose behalf a call is made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Caller {
    /// Sees its own sandboxes only.
    Session(SessionId),
    /// The operator: sees all.
    Admin,
}

// === impl SessionId ===

impl SessionId {
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({:?})", &*self.0)
    }
}

// === impl Caller ===

impl Caller {
    /// Whether it may see what `owner` owns.
    pub(crate) fn may_see(&self, owner: &Caller) -> bool {
        *self == Caller::Admin || self == owner
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(session) => session.fmt(f),
            Self::Admin => f.write_str("operator"),
        }
    }
}

impl From<SessionId> for Caller {
    fn from(session: SessionId) -> Self {
        Self::Session(session)
    }
}

// === UUIDs ===

/// Both ids are made, parsed and displayed alike.
macro_rules! uuid {
    ($name:ident, $field:literal) => {
        impl $name {
            pub fn random() -> Self {
                Self(random())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = SandboxError;

            fn from_str(text: &str) -> Result<Self, SandboxError> {
                read(text).map(Self).ok_or_else(|| SandboxError::InvalidArgument {
                    field: $field,
                    reason: format!("{text:?} is no UUID"),
                })
            }
        }
    };
}

uuid!(SandboxId, "sandbox_id");
uuid!(JobId, "job_id");

fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system has random bytes");
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

fn write(bytes: &[u8; 16], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            f.write_str("-")?;
        }
        write!(f, "{byte:02x}")?;
    }
    Ok(())
}

fn read(text: &str) -> Option<[u8; 16]> {
    let dashes =
        text.len() == 36 && text.bytes().enumerate().all(|(at, b)| (b == b'-') == matches!(at, 8 | 13 | 18 | 23));
    if !dashes {
        return None;
    }
    let mut digits = text.chars().filter(|c| *c != '-').map(|c| c.to_digit(16));
    let mut bytes = [0; 16];
    for byte in &mut bytes {
        *byte = u8::try_from(digits.next()?? << 4 | digits.next()??).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_uuids_there_and_back() {
        let id = SandboxId::random();
        let text = id.to_string();
        assert_eq!((text.len(), text.as_bytes()[14]), (36, b'4'));
        assert_eq!(text.parse::<SandboxId>().unwrap(), id);
        assert_eq!(text.to_uppercase().parse::<SandboxId>().unwrap(), id);
        assert_ne!(SandboxId::random(), id);
        for wrong in [
            "",
            "x",
            &text[1..],
            &text.replace('-', "0"),
            "é23e4567-e89b-42d3-a456-42661417400",
            "+0000000-0000-4000-8000-000000000000",
        ] {
            assert!(wrong.parse::<SandboxId>().is_err(), "{wrong}");
        }
    }
}
