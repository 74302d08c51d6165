//! The memory limit of an isolate.
//!
//! V8's own limit is no use for this: it aborts the process when a large piece is asked for near it. So V8 gets a hard
//! limit far above the app's, and the app's is checked after every garbage collection, array buffers counted. The
//! near-heap-limit callback is the last line: it terminates, and grants room once for the termination to happen in.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use hearth_core::{ByteSize, LimitExceeded};

/// V8's hard limit is this many times the app's, within the bounds below.
const HARD_FACTOR: u64 = 4;
const HARD_MIN: u64 = 512 << 20;
const HARD_MAX: u64 = 1 << 30;
/// What the near-heap-limit callback grants so that termination can be seen.
const GRANT: usize = 64 << 20;

/// Watches one isolate's heap. Its address is V8's callback data: it is boxed, and lives as long as the isolate.
pub(crate) struct HeapGuard {
    limit: ByteSize,
    /// Bytes in use when the limit was found exceeded; 0: it was not.
    exceeded: AtomicU64,
    handle: v8::IsolateHandle,
}

/// V8's hard limit for an app's limit. An app's limit of 0 (off) still has V8's.
pub(crate) fn hard_limit(limit: ByteSize) -> usize {
    let hard = (limit.bytes().saturating_mul(HARD_FACTOR)).clamp(HARD_MIN, HARD_MAX.max(limit.bytes() * 2));
    usize::try_from(hard).unwrap_or(usize::MAX)
}

impl HeapGuard {
    pub(crate) fn install(isolate: &mut v8::Isolate, limit: ByteSize) -> Box<Self> {
        let guard = Box::new(Self { limit, exceeded: AtomicU64::new(0), handle: isolate.thread_safe_handle() });
        let data = std::ptr::from_ref(&*guard).cast_mut().cast::<c_void>();
        isolate.add_gc_epilogue_callback(after_collection, data, v8::GCType::kGCTypeAll);
        isolate.add_near_heap_limit_callback(near_limit, data);
        guard
    }

    /// The limit was hit: how much was in use then.
    pub(crate) fn exceeded(&self) -> Option<LimitExceeded> {
        match self.exceeded.load(Ordering::Relaxed) {
            0 => None,
            used => Some(LimitExceeded::memory(ByteSize(used), self.limit)),
        }
    }

    /// For moments between collections: large array buffers can come without one.
    pub(crate) fn check(&self, isolate: &mut v8::Isolate) {
        if self.limit.bytes() == 0 {
            return;
        }
        let statistics = isolate.get_heap_statistics();
        let used = (statistics.used_heap_size() + statistics.external_memory()) as u64;
        if used > self.limit.bytes() && self.exceeded.load(Ordering::Relaxed) == 0 {
            self.exceeded.store(used, Ordering::Relaxed);
            self.handle.terminate_execution();
        }
    }
}

unsafe extern "C" fn after_collection(
    isolate: v8::UnsafeRawIsolatePtr,
    _kind: v8::GCType,
    _flags: v8::GCCallbackFlags,
    data: *mut c_void,
) {
    // SAFETY: `data` is the guard that `install` gave, which its owner keeps until the isolate is gone.
    let guard = unsafe { &*data.cast::<HeapGuard>() };
    // SAFETY: V8 passes the isolate that was collected, which this thread has entered.
    let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
    guard.check(&mut isolate);
}

unsafe extern "C" fn near_limit(data: *mut c_void, current: usize, _initial: usize) -> usize {
    // SAFETY: as in `after_collection`.
    let guard = unsafe { &*data.cast::<HeapGuard>() };
    if guard.exceeded.load(Ordering::Relaxed) == 0 {
        guard.exceeded.store(current as u64, Ordering::Relaxed);
    }
    guard.handle.terminate_execution();
    current + GRANT
}
