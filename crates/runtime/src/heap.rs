//! The memory limit of an isolate.
//!
//! V8's own limit does not serve: V8 aborts the process when a large allocation is made near it. So
//! V8 gets a hard limit far above the app's, and the app's is checked after every garbage
//! collection, array buffers included. The near-heap-limit callback is the last line: it terminates
//! the turn and grants room for the termination, a bounded number of times. The same checks update
//! the process's memory accounting (`memory_accounting.rs`), which has a budget of its own.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use hearth_core::{ByteSize, LimitExceeded, LimitKind};

use crate::memory_accounting::{BudgetCheck, IsolateUsage};
use crate::natives;
use crate::oom_attribution;

/// V8's hard limit is this many times the app's, within the bounds below.
const HARD_FACTOR: u64 = 4;
const HARD_MIN: u64 = 512 << 20;
const HARD_MAX: u64 = 1 << 30;
/// Room that the near-heap-limit callback grants for a termination.
const TERMINATION_GRANT: usize = 64 << 20;
/// The number of grants. A built-in that ignores termination but ends by itself needs several
/// (`join` of 2^26 parts does), and without a grant V8 ends the process, with the requests of all
/// its apps. With these a heap grows by half a gigabyte at most.
const MAX_GRANTS: u32 = 8;

/// What V8 allocates for a WebAssembly module or instance beside what it counts itself. Each has
/// one of V8's global handles, so that their number is known. Intl objects have sizes of their own
/// (`natives.rs`).
const WASM_OBJECT_SIZE: u64 = 24 << 10;
/// Bytes of one global handle.
const HANDLE_SIZE: u64 = 32;
/// Handles that are not counted: V8 and Hearth have some, and few objects are not worth a
/// collection.
const UNCOUNTED_HANDLES: u64 = 1024;

/// Growth of array buffers that is worth a check.
const MIN_BUFFER_GROWTH: u64 = 1 << 20;
const NOT_CHECKED: u64 = u64::MAX;

/// Watches one isolate's heap. Its address is V8's callback data: its owner keeps it as long as the
/// isolate is there. Natives find it in a slot of the isolate.
pub(crate) struct HeapGuard {
    limit: AtomicU64,
    /// Bytes in use when the limit was exceeded; 0: it was not.
    exceeded: AtomicU64,
    /// The same for the process's budget, and that budget.
    over: AtomicU64,
    budget: AtomicU64,
    /// Number of grants so far.
    grants: AtomicU32,
    /// Bytes of array buffers at the last check of a start; `NOT_CHECKED`: there was none.
    buffers: AtomicU64,
    /// Heap fill, natives included, above which all garbage is collected to see what is left.
    collect_at: AtomicU64,
    wants_collection: AtomicBool,
    /// Bytes of natives above which a turn collects all garbage before it goes on.
    collect_natives_at: AtomicU64,
    /// Global handles of Hearth's own.
    own_handles: AtomicU64,
    usage: Arc<IsolateUsage>,
    handle: v8::IsolateHandle,
}

/// V8's hard limit for an app's limit. An app with limit 0 (off) still has V8's.
pub(crate) fn hard_limit(limit: ByteSize) -> usize {
    let hard = (limit.bytes().saturating_mul(HARD_FACTOR)).clamp(HARD_MIN, HARD_MAX.max(limit.bytes() * 2));
    usize::try_from(hard).unwrap_or(usize::MAX)
}

impl HeapGuard {
    pub(crate) fn install(isolate: &mut v8::Isolate, limit: ByteSize) -> Arc<Self> {
        let guard = Arc::new(Self {
            limit: AtomicU64::new(limit.bytes()),
            exceeded: AtomicU64::new(0),
            over: AtomicU64::new(0),
            budget: AtomicU64::new(0),
            grants: AtomicU32::new(0),
            buffers: AtomicU64::new(NOT_CHECKED),
            collect_at: AtomicU64::new(first_collection(limit)),
            wants_collection: AtomicBool::new(false),
            collect_natives_at: AtomicU64::new(first_collection(limit)),
            own_handles: AtomicU64::new(0),
            usage: Arc::new(IsolateUsage::register()),
            handle: isolate.thread_safe_handle(),
        });
        isolate.set_slot(guard.clone());
        let data = std::ptr::from_ref(&*guard).cast_mut().cast::<c_void>();
        isolate.add_gc_epilogue_callback(after_collection, data, v8::GCType::kGCTypeAll);
        isolate.add_near_heap_limit_callback(near_limit, data);
        oom_attribution::install_oom_handler(isolate);
        guard
    }

    /// For an isolate that gets its app later.
    pub(crate) fn set_limit(&self, limit: ByteSize) {
        self.limit.store(limit.bytes(), Ordering::Relaxed);
        self.collect_at.store(first_collection(limit), Ordering::Relaxed);
        self.collect_natives_at.store(first_collection(limit), Ordering::Relaxed);
    }

    pub(crate) fn limit(&self) -> ByteSize {
        ByteSize(self.limit.load(Ordering::Relaxed))
    }

    /// Handles of the runtime itself, which are not natives of the app.
    pub(crate) fn set_own_handles(&self, count: usize) {
        self.own_handles.store(count as u64, Ordering::Relaxed);
    }

    /// Whether all garbage should be collected, to see what is left.
    pub(crate) fn wants_collection(&self) -> bool {
        self.wants_collection.load(Ordering::Relaxed)
    }

    /// All garbage was collected: returns what is left, natives included. The next collection comes
    /// when a quarter of the rest is used up.
    pub(crate) fn record_full_collection(&self, isolate: &mut v8::Isolate) -> ByteSize {
        let left = self.used_bytes(isolate);
        let limit = self.limit().bytes();
        // Natives are compared with the limit here alone: they stay until V8 collects their
        // objects, which are small.
        if limit > 0 && left > limit && self.exceeded.load(Ordering::Relaxed) == 0 {
            self.exceeded.store(left, Ordering::Relaxed);
        }
        let next = left + (self.limit().bytes().saturating_sub(left) / 4).max(self.limit().bytes() / 16);
        self.collect_at.store(next.max(first_collection(self.limit())), Ordering::Relaxed);
        self.wants_collection.store(false, Ordering::Relaxed);
        ByteSize(left)
    }

    fn used_bytes(&self, isolate: &mut v8::Isolate) -> u64 {
        let statistics = isolate.get_heap_statistics();
        (statistics.used_heap_size() + statistics.external_memory()) as u64 + self.natives(isolate, &statistics)
    }

    fn natives(&self, isolate: &v8::Isolate, statistics: &v8::HeapStatistics) -> u64 {
        let handles = statistics.used_global_handles_size() as u64 / HANDLE_SIZE;
        let others = UNCOUNTED_HANDLES + self.own_handles.load(Ordering::Relaxed) + natives::count(isolate);
        handles.saturating_sub(others) * WASM_OBJECT_SIZE + natives::bytes(isolate)
    }

    pub(crate) fn usage(&self) -> Arc<IsolateUsage> {
        self.usage.clone()
    }

    /// The limit that was exceeded, and how much was in use then.
    pub(crate) fn exceeded(&self) -> Option<LimitExceeded> {
        let read = |value: &AtomicU64| ByteSize(value.load(Ordering::Relaxed));
        let (own, all) = (read(&self.exceeded), read(&self.over));
        if own.bytes() > 0 {
            Some(LimitExceeded::memory(LimitKind::Heap, own, read(&self.limit)))
        } else if all.bytes() > 0 {
            Some(LimitExceeded::memory(LimitKind::Budget, all, read(&self.budget)))
        } else {
            None
        }
    }

    /// For objects that hold little of V8's heap and much outside of it: a turn can make any number of
    /// them before V8 collects. When they have grown by a quarter of the limit, all garbage is
    /// collected here, within the turn.
    pub(crate) fn check_natives(&self, isolate: &mut v8::Isolate) {
        if natives::bytes(isolate) <= self.collect_natives_at.load(Ordering::Relaxed) {
            return;
        }
        isolate.low_memory_notification();
        self.record_full_collection(isolate);
        let next = natives::bytes(isolate) + self.limit().bytes() / 4;
        self.collect_natives_at.store(next.max(first_collection(self.limit())), Ordering::Relaxed);
        if self.exceeded.load(Ordering::Relaxed) > 0 {
            self.handle.terminate_execution();
        }
    }

    /// For the start of a context. To measure the heap V8 visits all contexts that the isolate has
    /// had since the last collection: after the first measurement the growth of array buffers
    /// decides.
    pub(crate) fn check_start(&self, isolate: &mut v8::Isolate) {
        let buffers = u64::try_from(isolate.adjust_amount_of_external_allocated_memory(0)).unwrap_or(0);
        let before = self.buffers.load(Ordering::Relaxed);
        if before == NOT_CHECKED || buffers > before + MIN_BUFFER_GROWTH {
            self.buffers.store(buffers, Ordering::Relaxed);
            self.check(isolate);
        }
    }

    /// For the time between collections: large array buffers can be allocated without one.
    pub(crate) fn check(&self, isolate: &mut v8::Isolate) {
        let statistics = isolate.get_heap_statistics();
        let buffers = statistics.external_memory() as u64;
        let used = statistics.used_heap_size() as u64 + buffers;
        let limit = self.limit.load(Ordering::Relaxed);
        let natives = self.natives(isolate, &statistics);
        if limit > 0 && used + natives > self.collect_at.load(Ordering::Relaxed) {
            self.wants_collection.store(true, Ordering::Relaxed);
        }
        if limit > 0 && used > limit && self.exceeded.load(Ordering::Relaxed) == 0 {
            self.exceeded.store(used, Ordering::Relaxed);
            self.handle.terminate_execution();
        }
        // What V8 has reserved for the heap counts for the cage, used or not.
        if let BudgetCheck::Over { used, budget } =
            self.usage.update(statistics.total_heap_size() as u64, buffers + natives)
        {
            self.budget.store(budget.bytes(), Ordering::Relaxed);
            self.over.store(used.bytes(), Ordering::Relaxed);
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
    // SAFETY: `data` is the guard that `install` passed, which its owner keeps until the isolate is
    // gone.
    let guard = unsafe { &*data.cast::<HeapGuard>() };
    // SAFETY: V8 passes the isolate that was collected, which this thread has entered.
    let mut isolate = unsafe { v8::Isolate::from_raw_isolate_ptr(isolate) };
    guard.check(&mut isolate);
}

/// Half of the limit.
fn first_collection(limit: ByteSize) -> u64 {
    if limit.bytes() == 0 { u64::MAX } else { limit.bytes() / 2 }
}

unsafe extern "C" fn near_limit(data: *mut c_void, current: usize, _initial: usize) -> usize {
    // SAFETY: as in `after_collection`.
    let guard = unsafe { &*data.cast::<HeapGuard>() };
    if guard.exceeded.load(Ordering::Relaxed) == 0 {
        guard.exceeded.store(current as u64, Ordering::Relaxed);
    }
    guard.handle.terminate_execution();
    limit_after_grant(&guard.grants, current)
}

/// V8's next limit. Code that goes on after so many grants ignores termination: V8 ends the process
/// at the limit, before the heap takes up the cage that all isolates share.
fn limit_after_grant(grants: &AtomicU32, current: usize) -> usize {
    if grants.fetch_add(1, Ordering::Relaxed) < MAX_GRANTS { current + TERMINATION_GRANT } else { current }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_to_terminate_in_is_granted_so_often_and_no_more() {
        let (grants, begin) = (AtomicU32::new(0), 512 << 20);
        let raised = (0..100).fold(begin, |current, _| limit_after_grant(&grants, current));
        assert_eq!(raised, begin + MAX_GRANTS as usize * TERMINATION_GRANT);
    }
}
