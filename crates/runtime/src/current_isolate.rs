//! V8's current isolate of a thread: some thread-local pointers.
//!
//! V8's own functions for entering and leaving (`Isolate::Enter`, `Exit`) also keep a list of
//! entered isolates, with an allocation each time, under the lock that all of V8's allocations
//! share: a turn of one app waited for another app's memory. An isolate without V8's Locker
//! (`isolate.rs`) is entered by these functions once for each thread that it migrates to, and stays
//! on the list; each turn sets and resets the pointers alone, by V8's own function for them. All
//! other isolates are entered by V8's functions, which is recorded here: a thread may be in one of
//! each kind, one inside the other.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;

use crate::stack_limit::address;

unsafe extern "C" {
    #[link_name = "_ZN2v88internal7Isolate22SetIsolateThreadLocalsEPS1_PNS1_20PerIsolateThreadDataE"]
    fn isolate_set_thread_locals(isolate: *mut c_void, data: *mut c_void);
    #[link_name = "_ZN2v88internal7Isolate30FindPerThreadDataForThisThreadEv"]
    fn isolate_find_thread_data(isolate: *mut c_void) -> *mut c_void;
}

/// An isolate and its data for the thread: what V8's pointers are set to. Valid as long as the
/// isolate lives. Without the data: entered by V8's functions, and the data is looked up if needed.
#[derive(Clone, Copy)]
pub(crate) struct CurrentIsolate {
    isolate: *mut c_void,
    data: *mut c_void,
}

/// No isolate.
const NONE: CurrentIsolate = CurrentIsolate { isolate: null_mut(), data: null_mut() };

thread_local! {
    /// Always equal to V8's pointers.
    static CURRENT: Cell<CurrentIsolate> = const { Cell::new(NONE) };
}

impl CurrentIsolate {
    /// For an isolate that this thread has entered by V8's functions.
    pub(crate) fn on_this_thread(isolate: &v8::Isolate) -> Self {
        let isolate = address(isolate);
        // SAFETY: demands a live isolate, which the borrow shows.
        Self { isolate, data: unsafe { isolate_find_thread_data(isolate) } }
    }

    /// Makes the isolate this thread's current one; returns the one before.
    ///
    /// # Safety
    /// The value was made on this thread, the isolate lives, has an entry of this thread on its
    /// list, and no other thread is in it until another isolate is current.
    pub(crate) unsafe fn set(self) -> Self {
        let data = if self.data.is_null() && !self.isolate.is_null() { self.find_thread_data() } else { self.data };
        // SAFETY: demands a live isolate and its data for this thread, or neither: this function's
        // contract.
        unsafe { isolate_set_thread_locals(self.isolate, data) };
        CURRENT.replace(self)
    }

    /// Records that the thread has entered the isolate by V8's functions; returns the one before.
    pub(crate) fn record_entered(isolate: &v8::Isolate) -> Self {
        CURRENT.replace(Self { isolate: address(isolate), data: null_mut() })
    }

    /// Records that V8's functions made this one current again.
    pub(crate) fn record_left(self) {
        CURRENT.set(self);
    }

    #[cold]
    fn find_thread_data(self) -> *mut c_void {
        // SAFETY: demands a live isolate: the contract of `set`.
        unsafe { isolate_find_thread_data(self.isolate) }
    }
}

/// Runs `f` while the thread has no current isolate: for V8's own functions, which restore what was
/// current before.
pub(crate) fn with_none<R>(f: impl FnOnce() -> R) -> R {
    /// Restores the current isolate, however `f` ends.
    struct Back(CurrentIsolate);

    impl Drop for Back {
        fn drop(&mut self) {
            // SAFETY: the isolate was current before, and the caller that made it so has not
            // returned.
            unsafe { self.0.set() };
        }
    }

    // SAFETY: there is no isolate that would have to live or could be shared.
    let _back = Back(unsafe { NONE.set() });
    f()
}
