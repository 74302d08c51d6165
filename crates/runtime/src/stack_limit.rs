//! The limit of V8's stack. The `v8` crate does not bind it: this is V8's own exported function.

use std::ffi::c_void;

unsafe extern "C" {
    #[link_name = "_ZN2v87Isolate13SetStackLimitEm"]
    fn isolate_set_stack_limit(isolate: *mut c_void, limit: usize);
}

/// Sets the stack of an entered isolate to this thread's, of which it may use `size` bytes from
/// here down.
pub(crate) fn set_stack_here(isolate: &v8::Isolate, size: usize) {
    let here = 0u8;
    let limit = (std::ptr::from_ref(&here) as usize).saturating_sub(size);
    // SAFETY: demands a live isolate, which the borrow shows, and a limit within this thread's stack: threads that enter
    // isolates have at least `THREAD_STACK`, of which what is in use and `size` are a part.
    unsafe { isolate_set_stack_limit(address(isolate), limit) }
}

/// The isolate's address as V8's C++ has it.
pub(crate) fn address(isolate: &v8::Isolate) -> *mut c_void {
    // SAFETY: `UnsafeRawIsolatePtr` is a transparent wrapper of the raw pointer, which is all that is read of it here.
    unsafe { std::mem::transmute::<v8::UnsafeRawIsolatePtr, *mut c_void>(isolate.as_raw_isolate_ptr()) }
}
