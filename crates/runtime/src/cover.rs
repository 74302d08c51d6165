//! What stands behind a thread that turns run on, and is called when one proves long:
//!
//! - a worker of the reserve, where others wait for that thread (see [`crate::reserve`]);
//! - the pulse, for as long as the turn goes on: it has the weight of quick ones until the app is known to be slow, and those
//!   would wait for the kernel's clock to tick (see [`hearth_jail::sched_tick`]).

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::{Arc, Weak};

use hearth_jail::sched::{ChildSlice, set_default_slice, set_short_slice};
use hearth_jail::sched_tick::{BusyGuard, SchedulerTicker};

use crate::reserve::Reserve;

#[derive(Clone)]
pub(crate) struct Backing {
    /// None where nobody waits for the thread.
    pub(crate) reserve: Option<Arc<Reserve>>,
    /// The pulse ends with the threads, which these outlive.
    pub(crate) pulse: Weak<SchedulerTicker>,
}

/// Somebody works in place of the thread that a long turn runs on, until dropped.
pub(crate) struct Cover {
    reserve: Option<Arc<Reserve>>,
    _at_work: Option<BusyGuard>,
}

/// While it is there this thread, if others wait for it, lets whoever wakes up on its core come first, as those do that
/// nobody waits for: what it does may take long.
pub(crate) struct GivingWay {
    _here: PhantomData<*const ()>,
}

thread_local! {
    static BACKING_HERE: RefCell<Option<Backing>> = const { RefCell::new(None) };
}

// === impl Backing ===

impl Backing {
    /// Stands behind this thread from now on.
    pub(crate) fn settle_here(&self) {
        BACKING_HERE.set(Some(self.clone()));
    }

    /// What stands behind this thread.
    pub(crate) fn here() -> Option<Self> {
        BACKING_HERE.with_borrow(Clone::clone)
    }

    pub(crate) fn has_reserve(&self) -> bool {
        self.reserve.is_some()
    }

    /// None while all of the reserve are called up.
    pub(crate) fn cover(&self) -> Option<Cover> {
        if self.reserve.as_ref().is_some_and(|reserve| !reserve.call_up()) {
            return None;
        }
        let at_work = self.pulse.upgrade().map(|pulse| pulse.begin_work());
        Some(Cover { reserve: self.reserve.clone(), _at_work: at_work })
    }
}

impl Drop for Cover {
    fn drop(&mut self) {
        if let Some(reserve) = &self.reserve {
            reserve.stand_down();
        }
    }
}

// === impl GivingWay ===

impl GivingWay {
    pub(crate) fn begin() -> Option<Self> {
        let is_needed = BACKING_HERE.with_borrow(|backing| backing.as_ref().is_some_and(Backing::has_reserve));
        is_needed.then(|| {
            set_default_slice();
            Self { _here: PhantomData }
        })
    }
}

impl Drop for GivingWay {
    fn drop(&mut self) {
        set_short_slice(ChildSlice::Inherit);
    }
}
