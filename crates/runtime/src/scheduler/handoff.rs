//! What takes over for a thread while a long turn blocks it:
//!
//! - a standby worker, where other tasks wait for that thread (`standby.rs`);
//! - the scheduler ticker, until the turn ends: the thread has the weight of fast apps' threads until
//!   the app is classified as slow, and the others would wait for the kernel's clock to tick
//!   (`hearth_sys::sched_tick`).

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::{Arc, Weak};

use hearth_sys::sched::{ChildSlice, set_default_slice, set_short_slice};
use hearth_sys::sched_tick::{BusyGuard, SchedulerTicker};

use super::standby::StandbyWorkers;

/// What can take over for a thread.
#[derive(Clone)]
pub(crate) struct ThreadBackup {
    /// None for threads that no other tasks wait for.
    pub(crate) standby: Option<Arc<StandbyWorkers>>,
    /// The ticker ends with [`JsThreads`](super::JsThreads), which threads may outlive.
    pub(crate) ticker: Weak<SchedulerTicker>,
}

/// A thread is replaced because of a long turn, until this is dropped.
pub(crate) struct HandoffGuard {
    standby: Option<Arc<StandbyWorkers>>,
    _busy: Option<BusyGuard>,
}

/// Until it is dropped, this thread, if other tasks wait for it, has an ordinary time slice: threads
/// that wake up on its core run first, since its turn may be long.
pub(crate) struct NormalSliceGuard {
    _not_send: PhantomData<*const ()>,
}

thread_local! {
    static CURRENT_BACKUP: RefCell<Option<ThreadBackup>> = const { RefCell::new(None) };
}

// === impl ThreadBackup ===

impl ThreadBackup {
    /// Makes it the backup of this thread.
    pub(crate) fn install_here(&self) {
        CURRENT_BACKUP.set(Some(self.clone()));
    }

    /// The backup of this thread.
    pub(crate) fn current() -> Option<Self> {
        CURRENT_BACKUP.with_borrow(Clone::clone)
    }

    pub(crate) fn has_standby(&self) -> bool {
        self.standby.is_some()
    }

    /// Starts the replacement. None while all standby workers are active.
    pub(crate) fn activate(&self) -> Option<HandoffGuard> {
        if self.standby.as_ref().is_some_and(|standby| !standby.activate()) {
            return None;
        }
        let busy = self.ticker.upgrade().map(|ticker| ticker.begin_work());
        Some(HandoffGuard { standby: self.standby.clone(), _busy: busy })
    }
}

impl Drop for HandoffGuard {
    fn drop(&mut self) {
        if let Some(standby) = &self.standby {
            standby.release();
        }
    }
}

// === impl NormalSliceGuard ===

impl NormalSliceGuard {
    /// None where no other task waits for the thread.
    pub(crate) fn begin() -> Option<Self> {
        let is_needed = CURRENT_BACKUP.with_borrow(|backup| backup.as_ref().is_some_and(ThreadBackup::has_standby));
        is_needed.then(|| {
            set_default_slice();
            Self { _not_send: PhantomData }
        })
    }
}

impl Drop for NormalSliceGuard {
    fn drop(&mut self) {
        set_short_slice(ChildSlice::Inherit);
    }
}
