//! Being in an isolate, as far as V8 knows: some pointers of the thread's own that say which isolate is its current one.
//!
//! V8's own way in and out (`Isolate::Enter`, `Exit`) also writes a list of who is in, with an allocation each time, under
//! the lock that all of V8's allocations share: a turn of one app waited for another app's memory. An isolate that does without
//! V8's Locker (`isolate.rs`) is entered in V8's way once for each thread that it comes to live on, and stays on its list; what comes
//! and goes with each turn are the pointers alone, by V8's own function for them. All others are entered in V8's way, which is
//! noted here: a thread may be in one of each kind, one inside the other.

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

/// An isolate, and what it keeps of the thread that it lives on: what V8's pointers are set to. Valid for as long as the
/// isolate is. Without the latter: entered in V8's way, and looked up should it be needed.
#[derive(Clone, Copy)]
pub(crate) struct CurrentIsolate {
    isolate: *mut c_void,
    data: *mut c_void,
}

/// In no isolate.
const NONE: CurrentIsolate = CurrentIsolate { isolate: null_mut(), data: null_mut() };

thread_local! {
    /// Always what V8's pointers are.
    static CURRENT: Cell<CurrentIsolate> = const { Cell::new(NONE) };
}

impl CurrentIsolate {
    /// Of this thread in an isolate that it has entered in V8's way.
    pub(crate) fn on_this_thread(isolate: &v8::Isolate) -> Self {
        let isolate = address(isolate);
        // SAFETY: demands a live isolate, which the borrow shows.
        Self { isolate, data: unsafe { isolate_find_thread_data(isolate) } }
    }

    /// Makes the isolate this thread's current one; gives back where the thread was.
    ///
    /// # Safety
    /// It was made on this thread, the isolate lives, is on its own list as entered here, and no other thread is in it,
    /// until the thread is elsewhere again.
    pub(crate) unsafe fn set(self) -> Self {
        let data = if self.data.is_null() && !self.isolate.is_null() { self.find_thread_data() } else { self.data };
        // SAFETY: demands an isolate that lives and its data for this thread, or neither: the caller's word.
        unsafe { isolate_set_thread_locals(self.isolate, data) };
        CURRENT.replace(self)
    }

    /// Notes that the thread has entered the isolate in V8's way; gives back where it was.
    pub(crate) fn record_entered(isolate: &v8::Isolate) -> Self {
        CURRENT.replace(Self { isolate: address(isolate), data: null_mut() })
    }

    /// Notes that the thread is back here, in V8's way.
    pub(crate) fn record_left(self) {
        CURRENT.set(self);
    }

    #[cold]
    fn find_thread_data(self) -> *mut c_void {
        // SAFETY: demands a live isolate: the promise to `begin`.
        unsafe { isolate_find_thread_data(self.isolate) }
    }
}

/// Runs `f` while the thread is in no isolate: for V8's own ways in and out, which come back to where they began.
pub(crate) fn with_none<R>(f: impl FnOnce() -> R) -> R {
    /// Brings the thread back, however `f` ends.
    struct Back(CurrentIsolate);

    impl Drop for Back {
        fn drop(&mut self) {
            // SAFETY: the thread was in there before, and whoever put it there has not ended.
            unsafe { self.0.set() };
        }
    }

    // SAFETY: nowhere is no isolate, so there is nothing to live or to be shared.
    let _back = Back(unsafe { NONE.set() });
    f()
}
