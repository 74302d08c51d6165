//! An isolate that any thread may enter, one at a time.
//!
//! The `v8` crate's `OwnedIsolate` is entered when it is made and must be dropped in reverse order of creation. An
//! [`Isolate`] here is entered only while a [`LockedIsolate`] borrows it, and exited before the borrow ends. So isolates
//! move between threads freely and are dropped in any order, by any thread.
//!
//! V8 has a lock of its own for that (`v8::Locker`), which costs several times as much as a short turn's JavaScript: it
//! puts away and brings back what a thread was in the middle of. Here nobody is in the middle of anything between two
//! borrows, which exclude each other anyway. All that then ties an isolate to a thread is the limit of the stack, so it
//! *moves house*: whoever enters it from another thread than the last sets the limit anew.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hearth_core::ByteSize;

use crate::cage::Making;
use crate::heap::{HeapGuard, hard_limit};
use crate::ledger;
use crate::platform::{Platform, V8_STACK};
use crate::snapshot::Snapshot;
use crate::stack::set_stack_here;

pub struct Isolate {
    /// Exited right after it was made; entered again for its disposal.
    inner: ManuallyDrop<v8::OwnedIsolate>,
    heap: Box<HeapGuard>,
    /// The thread that entered it last.
    home: ThreadNumber,
}

/// A thread of this process; never 0, never given to another. The standard library's own cannot be kept in an atomic,
/// and asking for it costs several times as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadNumber(pub(crate) u64);

thread_local! {
    static THIS_THREAD: ThreadNumber = {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        ThreadNumber(NEXT.fetch_add(1, Ordering::Relaxed))
    };
}

pub(crate) fn this_thread() -> ThreadNumber {
    THIS_THREAD.with(|number| *number)
}

/// The first isolate of a process sets V8's allocator up, which aborts when two threads do it at once.
fn make(params: v8::CreateParams) -> v8::OwnedIsolate {
    let _making = Making::begin();
    static FIRST: Mutex<First> = Mutex::new(First::ToBeMade);
    let mut first = FIRST.lock().unwrap_or_else(PoisonError::into_inner);
    if let First::Made = *first {
        drop(first);
        return v8::Isolate::new(params);
    }
    let isolate = v8::Isolate::new(params);
    *first = First::Made;
    isolate
}

enum First {
    ToBeMade,
    Made,
}

/// The isolate, entered by this thread. Not `Send`: it is exited where it was entered.
pub struct LockedIsolate<'a> {
    isolate: &'a mut Isolate,
    _not_send: PhantomData<*mut ()>,
}

// SAFETY: V8 demands that an isolate is used by one thread at a time, that knows its stack. All use goes through
// `LockedIsolate` (exclusive borrow, sees to the stack) and `Drop` (exclusive by ownership), with no scope of V8's left open in
// between. The guard inside is only read by V8's callbacks on the thread that has the isolate.
unsafe impl Send for Isolate {}

impl Isolate {
    /// A new isolate on the snapshot, with the app's memory limit (0: none but V8's).
    pub fn new(_platform: Platform, snapshot: &Snapshot, heap: ByteSize) -> Self {
        let params = v8::Isolate::create_params()
            .heap_limits(0, hard_limit(heap))
            .allow_atomics_wait(false)
            .external_references(crate::bootstrap::external_references())
            .snapshot_blob(snapshot.blob());
        let mut inner = make(params);
        inner.set_microtasks_policy(v8::MicrotasksPolicy::Explicit);
        inner.set_capture_stack_trace_for_uncaught_exceptions(true, 10);
        crate::callbacks::install(&mut inner);
        inner.set_slot(snapshot.clone());
        let heap = HeapGuard::install(&mut inner, heap);
        // SAFETY: `exit` demands that the isolate is this thread's current one: it was entered when it was made, just above.
        unsafe { inner.exit() };
        Self { inner: ManuallyDrop::new(inner), heap, home: this_thread() }
    }

    /// Runs `f` with the isolate entered.
    pub fn with_lock<R>(&mut self, f: impl FnOnce(&mut LockedIsolate<'_>) -> R) -> R {
        let here = this_thread();
        // SAFETY: `enter` demands that no other thread is in the isolate: `&mut self`, and whoever had it before has left it.
        // `locked` is dropped, and so exits, before the borrow ends.
        unsafe { self.inner.enter() };
        let mut locked = LockedIsolate { isolate: self, _not_send: PhantomData };
        if locked.isolate.home != here {
            locked.isolate.home = here;
            set_stack_here(&locked, V8_STACK);
        }
        f(&mut locked)
    }

    /// Its part of what the process holds.
    pub(crate) fn memory(&self) -> Arc<ledger::Entry> {
        self.heap.entry()
    }

    /// For termination from other threads.
    pub fn handle(&self) -> v8::IsolateHandle {
        self.inner.thread_safe_handle()
    }
}

impl Drop for Isolate {
    fn drop(&mut self) {
        // SAFETY: the crate's drop demands that the isolate is the thread's current one and exits it itself; nobody else
        // has it (`&mut self`). `inner` is not used again.
        unsafe {
            self.inner.enter();
            ManuallyDrop::drop(&mut self.inner);
        }
    }
}

// === impl LockedIsolate ===

impl LockedIsolate<'_> {
    pub(crate) fn home(&self) -> ThreadNumber {
        self.isolate.home
    }

    pub(crate) fn heap(&self) -> &HeapGuard {
        &self.isolate.heap
    }

    /// Compares the memory in use with the limit now.
    pub(crate) fn check_heap(&mut self) {
        let Isolate { inner, heap, .. } = &mut *self.isolate;
        heap.check(inner);
    }
}

impl Drop for LockedIsolate<'_> {
    fn drop(&mut self) {
        // SAFETY: the isolate was entered in `with_lock` and every later entry has been left again: scopes nest.
        unsafe { self.isolate.inner.exit() };
    }
}

impl Deref for LockedIsolate<'_> {
    type Target = v8::Isolate;

    fn deref(&self) -> &v8::Isolate {
        &self.isolate.inner
    }
}

impl DerefMut for LockedIsolate<'_> {
    fn deref_mut(&mut self) -> &mut v8::Isolate {
        &mut self.isolate.inner
    }
}
