//! `v8::Locker`: V8's own lock of an isolate, which tells V8 that another thread has it. The `v8`
//! crate does not bind it; these are V8's public functions.
//!
//! [`Locker`] is for a scope, as in C++. [`HeldLock`] is one that a thread keeps beyond scopes: the
//! thread owns it, since no other may unlock it, and releases it on demand or when it ends. Other
//! threads see by a flag whether it is still held.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::marker::PhantomPinned;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::isolate::{ThreadNumber, this_thread};
use crate::stack_limit::address;

unsafe extern "C" {
    #[link_name = "_ZN2v86Locker10InitializeEPNS_7IsolateE"]
    fn locker_initialize(locker: *mut RawLocker, isolate: *mut c_void);
    #[link_name = "_ZN2v86LockerD1Ev"]
    fn locker_destroy(locker: *mut RawLocker);
    #[link_name = "_ZN2v86Locker8IsLockedEPNS_7IsolateE"]
    fn locker_is_locked(isolate: *mut c_void) -> bool;
}

/// The layout of `v8::Locker` (`v8-locker.h`).
#[repr(C)]
struct RawLocker {
    has_lock: bool,
    top_level: bool,
    isolate: *mut c_void,
}

/// Room for a lock, which is taken in place and released by the drop. Neither sent to another
/// thread nor moved.
pub(crate) struct Locker {
    raw: MaybeUninit<RawLocker>,
    is_locked: bool,
    _pinned: PhantomPinned,
}

/// An isolate's side of a lock that a thread keeps for it.
pub(crate) struct HeldLock {
    isolate: usize,
    thread: ThreadNumber,
    is_held: Arc<AtomicBool>,
}

/// The lock itself, on its thread.
struct ThreadLock {
    locker: Pin<Box<Locker>>,
    is_held: Arc<AtomicBool>,
}

thread_local! {
    /// The locks that this thread keeps, by the address of their isolates. The rest is released
    /// when it ends.
    static HELD_LOCKS: RefCell<HashMap<usize, ThreadLock>> = RefCell::default();
}

/// Whether this thread has the isolate's lock.
pub(crate) fn is_locked_here(isolate: &v8::Isolate) -> bool {
    // SAFETY: demands a live isolate, which the borrow shows.
    unsafe { locker_is_locked(address(isolate)) }
}

// === impl Locker ===

impl Locker {
    pub(crate) const fn unlocked() -> Self {
        Self { raw: MaybeUninit::uninit(), is_locked: false, _pinned: PhantomPinned }
    }

    /// Waits for the isolate's lock and takes it.
    ///
    /// # Safety
    /// The isolate lives until this is dropped, and this has not locked it yet.
    pub(crate) unsafe fn lock(self: Pin<&mut Self>, isolate: &v8::Isolate) {
        debug_assert!(!self.is_locked, "one lock at a time");
        // SAFETY: `get_unchecked_mut` demands that nothing is moved out, and nothing is. `locker_initialize` demands memory of
        // a `v8::Locker`'s layout, which it fills and which is pinned; and a live isolate, which the borrow shows.
        unsafe {
            let this = self.get_unchecked_mut();
            locker_initialize(this.raw.as_mut_ptr(), address(isolate));
            this.is_locked = true;
        }
    }
}

impl Drop for Locker {
    #[inline]
    fn drop(&mut self) {
        if self.is_locked {
            // SAFETY: demands a lock that was initialised on this thread, since this is not `Send`,
            // and a live isolate: the contract of `lock`.
            unsafe { locker_destroy(self.raw.as_mut_ptr()) };
        }
    }
}

// === impl Held ===

impl HeldLock {
    /// Makes this thread keep the isolate's lock until it is released.
    ///
    /// # Safety
    /// The isolate lives until the lock is released.
    pub(crate) unsafe fn take(isolate: &v8::Isolate) -> Self {
        let mut locker = Box::pin(Locker::unlocked());
        // SAFETY: demands that the isolate lives until the drop, which is the release: this
        // function's contract.
        unsafe { locker.as_mut().lock(isolate) };
        let (isolate, is_held) = (address(isolate) as usize, Arc::new(AtomicBool::new(true)));
        HELD_LOCKS.with_borrow_mut(|kept| kept.insert(isolate, ThreadLock { locker, is_held: is_held.clone() }));
        Self { isolate, thread: this_thread(), is_held }
    }

    /// Whether any thread keeps it.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Acquire)
    }

    /// Whether this thread keeps it.
    pub(crate) fn is_held_here(&self) -> bool {
        self.thread == this_thread() && self.is_held()
    }

    /// Releases the lock, if this thread keeps it.
    pub(crate) fn release(&self) {
        if self.is_held_here() {
            let kept = HELD_LOCKS.with_borrow_mut(|kept| kept.remove(&self.isolate));
            drop(kept);
        }
    }
}

impl Drop for ThreadLock {
    fn drop(&mut self) {
        // Replaces the locked one, whose drop unlocks it.
        self.locker.set(Locker::unlocked());
        self.is_held.store(false, Ordering::Release);
    }
}

/// Releases what this thread still keeps, before it ends.
pub(crate) fn release_all_here() {
    let kept = HELD_LOCKS.take();
    drop(kept);
}
