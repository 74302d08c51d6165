//! An isolate that several contexts of one owner use, one at a time. A worker's own isolate is the same thing with one
//! context, so that there is one way to enter JavaScript.

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

    pub(crate) fn ledger_entry(&self) -> Arc<ledger::Entry> {
        self.memory.clone()
    }

    pub(crate) fn handle(&self) -> v8::IsolateHandle {
        self.handle.clone()
    }
}
