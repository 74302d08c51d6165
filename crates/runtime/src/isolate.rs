//! An isolate that any thread may enter, one at a time.
//!
//! The `v8` crate's `OwnedIsolate` is entered when it is made and must be dropped in reverse order of creation. An
//! [`Isolate`] here is a thread's current one only while a [`LockedIsolate`] borrows it. So isolates move between threads
//! freely and are dropped in any order, by any thread.
//!
//! V8 has a lock of its own for that (`v8::Locker`), which costs several times as much as a short turn's JavaScript: it
//! puts away and brings back what a thread was in the middle of. Here nobody is in the middle of anything between two
//! borrows, which exclude each other anyway. All that then ties an isolate to a thread is the limit of the stack and its
//! place on V8's list of entries, so it *moves house*: whoever takes it from another thread than the last sets both anew.
//! Invariant: there is one entry on that list, of the thread where it lives, from its making to its disposal.

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
use crate::presence::{Presence, outside};
use crate::snapshot::Snapshot;
use crate::stack::set_stack_here;

pub struct Isolate {
    inner: ManuallyDrop<v8::OwnedIsolate>,
    heap: Box<HeapGuard>,
    /// The thread where it lives: the last that was in it.
    home: ThreadNumber,
    /// That thread's presence in it.
    presence: Presence,
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

/// The isolate as this thread's current one. Not `Send`: it is left where it was entered.
pub struct LockedIsolate<'a> {
    isolate: &'a mut Isolate,
    /// Where the thread was before.
    before: Presence,
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
        outside(|| {
            // Entered when it is made.
            let mut inner = make(params);
            inner.set_microtasks_policy(v8::MicrotasksPolicy::Explicit);
            inner.set_capture_stack_trace_for_uncaught_exceptions(true, 10);
            crate::callbacks::install(&mut inner);
            inner.set_slot(snapshot.clone());
            let heap = HeapGuard::install(&mut inner, heap);
            let presence = Presence::of(&inner);
            Self { inner: ManuallyDrop::new(inner), heap, home: this_thread(), presence }
        })
    }

    /// Runs `f` with the isolate as the thread's current one.
    pub fn with_lock<R>(&mut self, f: impl FnOnce(&mut LockedIsolate<'_>) -> R) -> R {
        let arrival = self.settle_here();
        // SAFETY: `begin` demands that it was made on this thread, where the isolate is entered: `settle_here`; and that no
        // other thread is in the isolate: `&mut self`. `locked` is dropped, and so leaves, before the borrow ends.
        let before = unsafe { self.presence.begin() };
        let mut locked = LockedIsolate { isolate: self, before, _not_send: PhantomData };
        if let Arrival::New = arrival {
            set_stack_here(&locked, V8_STACK);
        }
        f(&mut locked)
    }

    /// Moves house, if another thread had it last.
    fn settle_here(&mut self) -> Arrival {
        let here = this_thread();
        if self.home == here {
            return Arrival::Known;
        }
        outside(|| {
            // SAFETY: V8 demands that nobody is in the isolate (`&mut self`, and whoever had it before has left it), and an
            // entry to take off its list: the one of where it lived. What `exit` restores is what was when that was made:
            // nothing, since it was made outside, too.
            unsafe {
                self.inner.exit();
                self.inner.enter();
            }
            self.presence = Presence::of(&self.inner);
        });
        self.home = here;
        Arrival::New
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

/// How a thread comes to an isolate.
#[derive(Clone, Copy)]
enum Arrival {
    Known,
    New,
}

impl Drop for Isolate {
    fn drop(&mut self) {
        self.settle_here();
        outside(|| {
            // SAFETY: the crate's drop demands that the isolate is the thread's current one, and exits it itself, which takes
            // the last entry off its list; nobody else has it (`&mut self`). `inner` is not used again, and the thread is
            // elsewhere before anything else runs.
            unsafe {
                self.presence.begin();
                ManuallyDrop::drop(&mut self.inner);
            }
        });
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

    /// Looks at the memory in use where a context has started.
    pub(crate) fn check_heap_at_start(&mut self) {
        let Isolate { inner, heap, .. } = &mut *self.isolate;
        heap.check_start(inner);
    }

    /// Compares the memory in use with the limit now.
    pub(crate) fn check_heap(&mut self) {
        let Isolate { inner, heap, .. } = &mut *self.isolate;
        heap.check(inner);
    }
}

impl Drop for LockedIsolate<'_> {
    fn drop(&mut self) {
        // SAFETY: `begin` demands that the thread may still be where it was before `with_lock`: whoever put it there holds
        // that isolate until after this, since borrows nest.
        unsafe { self.before.begin() };
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
