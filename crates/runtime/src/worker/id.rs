//! A worker's id, and a weak handle.

use std::fmt;
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Worker, WorkerShared};

/// Unique within this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(u64);

/// A handle that does not keep the worker alive.
#[derive(Clone)]
pub struct WeakWorker {
    shared: Weak<WorkerShared>,
}

impl WorkerId {
    pub(super) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn raw(self) -> u64 {
        self.0
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Worker {
    pub fn downgrade(&self) -> WeakWorker {
        WeakWorker { shared: std::sync::Arc::downgrade(&self.shared) }
    }
}

impl WeakWorker {
    /// The result keeps the worker alive.
    pub fn upgrade(&self) -> Option<Worker> {
        Some(Worker { shared: self.shared.upgrade()? })
    }
}
