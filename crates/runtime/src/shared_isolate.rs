//! Where contexts live: in an isolate of their own, or in one that several of the same owner use, one at a time. Both are
//! entered in the same way; only what is shared needs a lock for it.

use std::sync::{Arc, Mutex, PoisonError};

use hearth_core::ByteSize;

use crate::isolate::{Isolate, LockedIsolate};
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
    pub fn new(isolate: Isolate) -> Self {
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
