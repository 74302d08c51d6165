//! Names and numbers that identify things. Numbers are never reused within a process, so that a late event cannot be mistaken for
//! one of a newer request.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// One event that an app handles: an HTTP request, a scheduled event or a task.
/// Never 0 (that stands for "no request": module evaluation), and always exact as a JavaScript number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(u64);

/// The name of an app, as it was written.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct AppName(Arc<str>);

/// The tenant that an app belongs to: the unit of isolation and fairness. By default the app's name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Owner(Arc<str>);

/// What a version of an app is called: `1.2.3`, or `latest`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct VersionName(Arc<str>);

// === impl RequestId ===

impl RequestId {
    /// Not a request: module evaluation, and work that it has started.
    pub const OUTSIDE: RequestId = RequestId(0);

    /// An id that this process has not used before. Each thread takes a block of ids and counts within it, so that threads do not
    /// contend for each request.
    pub fn next() -> Self {
        const BLOCK: u64 = 64;
        static NEXT: AtomicU64 = AtomicU64::new(BLOCK);
        thread_local! {
            static MINE: Cell<u64> = const { Cell::new(0) };
        }
        MINE.with(|next| {
            // The first number of a block is never used, so that 0 is never an id.
            let id = match next.get() {
                id if id % BLOCK != 0 => id,
                _ => NEXT.fetch_add(BLOCK, Ordering::Relaxed) + 1,
            };
            next.set(id + 1);
            Self(id)
        })
    }

    pub fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    pub fn raw(self) -> u64 {
        self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestId({})", self.0)
    }
}

// === names ===

/// The three are the same to make, to read and to send.
macro_rules! name {
    ($name:ident) => {
        impl $name {
            pub fn new(name: impl Into<Arc<str>>) -> Self {
                Self(name.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(name: String) -> Self {
                Self(name.into())
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), &*self.0)
            }
        }
    };
}

name!(AppName);
name!(Owner);
name!(VersionName);

impl From<&AppName> for Owner {
    fn from(app: &AppName) -> Self {
        Self(app.0.clone())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_requests_have_the_same_id() {
        let take = || (0..1_000).map(|_| RequestId::next().raw()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..8).map(|_| std::thread::spawn(take)).collect();
        let all: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        assert!(!all.contains(&RequestId::OUTSIDE.raw()));
    }
}
