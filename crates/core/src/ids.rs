//! Names and numbers that identify things. Numbers count up and are never reused within a process, so that nothing late
//! can be taken for something new.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One event that an app handles: an HTTP request, a scheduled event or a task.
/// Never 0 (that stands for "no request": module evaluation), and always exact as a JavaScript number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(u64);

/// The name of an app, as people wrote it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AppName(Arc<str>);

/// The tenant that an app belongs to: the unit of isolation and fairness. Unless somebody says otherwise, the app's name.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Owner(Arc<str>);

// === impl RequestId ===

impl RequestId {
    /// Not a request: module evaluation, and whatever it left running.
    pub const OUTSIDE: RequestId = RequestId(0);

    /// The next id of this process.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
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

// === impl AppName ===

impl AppName {
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AppName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AppName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AppName({:?})", &*self.0)
    }
}

// === impl Owner ===

impl Owner {
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&AppName> for Owner {
    fn from(app: &AppName) -> Self {
        Self(app.0.clone())
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({:?})", &*self.0)
    }
}
