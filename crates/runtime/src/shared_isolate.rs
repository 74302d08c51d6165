//! Where contexts live: in an isolate of their own, or in one that several of the same owner use, one at a time. Both are
//! entered in the same way; only what is shared needs a lock for it.

use std::sync::{Arc, Mutex, PoisonError};

use hearth_core::ByteSize;

use crate::isolate::{Isolate, LockedIsolate, Locking};
use crate::ledger;

#[derive(Clone)]
pub struct SharedIsolate {
    isolate: Arc<Mutex<Isolate>>,
    handle: v8::IsolateHandle,
    memory: Arc<ledger::Entry>,
}

/// Where a context lives.
pub(crate) enum House {
    Own(Box<Isolate>),
    Shared(SharedIsolate),
}

// === impl SharedIsolate ===

impl SharedIsolate {
    /// Threads enter it under V8's own lock, unless another way was chosen before.
    pub fn new(mut isolate: Isolate) -> Self {
        isolate.set_locking(Locking::Locker);
        let (handle, memory) = (isolate.handle(), isolate.memory());
        Self { isolate: Arc::new(Mutex::new(isolate)), handle, memory }
    }

    /// Runs `f` with the isolate locked and entered. Waits while another context of it is running.
    pub fn with_lock<R>(&self, f: impl FnOnce(&mut LockedIsolate<'_>) -> R) -> R {
        // A panic under the lock condemns the worker whose turn it was; the isolate itself was left in order by its guards.
        self.isolate.lock().unwrap_or_else(PoisonError::into_inner).with_lock(f)
    }

    /// What it holds, as of the last look.
    pub fn memory(&self) -> ByteSize {
        self.memory.size()
    }
}

// === impl House ===

impl House {
    /// Chooses how threads enter it. One that is shared has its way already.
    pub(crate) fn set_locking(&mut self, locking: Locking) {
        if let Self::Own(isolate) = self {
            isolate.set_locking(locking);
        }
    }

    /// Gives up a lock that this thread keeps.
    pub(crate) fn release_locker(&mut self) {
        if let Self::Own(isolate) = self {
            isolate.release_locker();
        }
    }

    /// Runs `f` with the isolate locked and entered. Waits while another context of it is running.
    pub(crate) fn with_lock<R>(&mut self, f: impl FnOnce(&mut LockedIsolate<'_>) -> R) -> R {
        match self {
            Self::Own(isolate) => isolate.with_lock(f),
            Self::Shared(isolate) => isolate.with_lock(f),
        }
    }

    pub(crate) fn ledger_entry(&self) -> Arc<ledger::Entry> {
        match self {
            Self::Own(isolate) => isolate.memory(),
            Self::Shared(isolate) => isolate.memory.clone(),
        }
    }

    pub(crate) fn handle(&self) -> v8::IsolateHandle {
        match self {
            Self::Own(isolate) => isolate.handle(),
            Self::Shared(isolate) => isolate.handle.clone(),
        }
    }
}
