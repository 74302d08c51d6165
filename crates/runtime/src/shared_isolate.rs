//! Which isolate a context is in: one of its own, or one that several workers of the same owner use, one
//! at a time. Both are entered in the same way; only a shared one needs a lock.

use std::sync::{Arc, Mutex, PoisonError};

use hearth_core::ByteSize;

use crate::isolate::{Isolate, LockedIsolate, Locking};
use crate::memory_accounting;

#[derive(Clone)]
pub struct SharedIsolate {
    isolate: Arc<Mutex<Isolate>>,
    handle: v8::IsolateHandle,
    memory: Arc<memory_accounting::IsolateUsage>,
}

/// The isolate of a context.
pub(crate) enum IsolateOwnership {
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
        // A panic under the lock condemns the worker whose turn it was; guards have left the isolate in order.
        self.isolate.lock().unwrap_or_else(PoisonError::into_inner).with_lock(f)
    }

    /// Memory that it holds, as of the last update.
    pub fn memory(&self) -> ByteSize {
        self.memory.size()
    }
}

// === impl House ===

impl IsolateOwnership {
    /// Chooses how threads enter it. For a shared one that was chosen before.
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

    pub(crate) fn usage(&self) -> Arc<memory_accounting::IsolateUsage> {
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
