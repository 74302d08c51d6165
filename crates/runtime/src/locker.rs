//! `v8::Locker`, `v8::Unlocker` and the stack limit, which the `v8` crate does not bind: V8's own exported functions.
//! A locker is neither movable once made (V8 keeps its address) nor sendable (V8 ties it to the thread).

use std::ffi::c_void;
use std::marker::{PhantomData, PhantomPinned};
use std::pin::Pin;

/// V8's layout of `v8::Locker`.
#[repr(C)]
pub(crate) struct Locker {
    has_lock: bool,
    top_level: bool,
    isolate: *mut c_void,
    _pinned: PhantomPinned,
    _not_send: PhantomData<*mut ()>,
}

/// V8's layout of `v8::Unlocker`.
#[repr(C)]
pub(crate) struct Unlocker {
    isolate: *mut c_void,
    _pinned: PhantomPinned,
    _not_send: PhantomData<*mut ()>,
}

// The markers have no layout of their own: what C++ sees are the fields before them.
#[allow(improper_ctypes)]
unsafe extern "C" {
    #[link_name = "_ZN2v86Locker10InitializeEPNS_7IsolateE"]
    fn locker_initialize(this: *mut Locker, isolate: *mut c_void);
    #[link_name = "_ZN2v86LockerD1Ev"]
    fn locker_destroy(this: *mut Locker);
    #[link_name = "_ZN2v88Unlocker10InitializeEPNS_7IsolateE"]
    fn unlocker_initialize(this: *mut Unlocker, isolate: *mut c_void);
    #[link_name = "_ZN2v88UnlockerD1Ev"]
    fn unlocker_destroy(this: *mut Unlocker);
    #[link_name = "_ZN2v87Isolate13SetStackLimitEm"]
    fn isolate_set_stack_limit(isolate: *mut c_void, limit: usize);
}

/// Tells an entered isolate that it now runs on this thread's stack, of which it may use `size` bytes from here down.
pub(crate) fn set_stack_here(isolate: &v8::Isolate, size: usize) {
    let here = 0u8;
    let limit = (std::ptr::from_ref(&here) as usize).saturating_sub(size);
    // SAFETY: demands a live isolate, which the borrow shows, and a limit within this thread's stack: threads that enter
    // isolates have at least `THREAD_STACK`, of which what is in use and `size` are a part.
    unsafe { isolate_set_stack_limit(address(isolate), limit) }
}

/// The isolate's address as V8's C++ has it.
fn address(isolate: &v8::Isolate) -> *mut c_void {
    // SAFETY: `UnsafeRawIsolatePtr` is a transparent wrapper of the raw pointer, which is all that is read of it here.
    unsafe { std::mem::transmute::<v8::UnsafeRawIsolatePtr, *mut c_void>(isolate.as_raw_isolate_ptr()) }
}

// === impl Locker ===

impl Locker {
    /// Room for a locker: not locked until [`Locker::lock`].
    pub(crate) fn unlocked() -> Self {
        Self {
            has_lock: false,
            top_level: true,
            isolate: std::ptr::null_mut(),
            _pinned: PhantomPinned,
            _not_send: PhantomData,
        }
    }

    /// Waits for the isolate and locks it for this thread until the value is dropped.
    pub(crate) fn lock(self: Pin<&mut Self>, isolate: &v8::Isolate) {
        // SAFETY: the constructor demands memory of its layout that does not move until its destructor has run: `self` is
        // pinned, and `drop` runs the destructor.
        unsafe { locker_initialize(self.get_unchecked_mut(), address(isolate)) }
    }
}

impl Drop for Locker {
    fn drop(&mut self) {
        if !self.isolate.is_null() {
            // SAFETY: the isolate is set by `locker_initialize` alone, so the value was constructed, on this thread (the
            // type is not Send), and is destroyed once.
            unsafe { locker_destroy(self) }
        }
    }
}

// === impl Unlocker ===

impl Unlocker {
    pub(crate) fn locked() -> Self {
        Self { isolate: std::ptr::null_mut(), _pinned: PhantomPinned, _not_send: PhantomData }
    }

    /// Gives the lock up until the value is dropped. The caller must hold it, with no scope of V8's open.
    pub(crate) fn unlock(self: Pin<&mut Self>, isolate: &v8::Isolate) {
        // SAFETY: as for `Locker::lock`; the constructor also demands that this thread holds the lock, which the callers'
        // exclusive borrow of a `LockedIsolate` shows.
        unsafe { unlocker_initialize(self.get_unchecked_mut(), address(isolate)) }
    }
}

impl Drop for Unlocker {
    fn drop(&mut self) {
        if !self.isolate.is_null() {
            // SAFETY: as for `Locker`.
            unsafe { unlocker_destroy(self) }
        }
    }
}
