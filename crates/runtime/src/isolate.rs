//! An isolate that any thread may enter, one at a time.
//!
//! The `v8` crate's `OwnedIsolate` is entered when it is made and must be dropped in reverse order of creation. An
//! [`Isolate`] here is entered only while a [`LockedIsolate`] borrows it: taken under `v8::Locker`, so that V8 knows the
//! thread and its stack, and exited before the lock is given up. So isolates move between threads freely and are dropped in
//! any order, by any thread.
//!
//! The Locker costs a good part of a short turn, and an isolate that only its first thread has entered can do without. So
//! its life is `AtHome -> Travelling`: the first entry by another thread ends the first state for good, since V8 demands
//! that an isolate once locked is always locked. One that is at home may also move house ([`Isolate::move_here`]): all that
//! ties it to its old thread is the limit of the stack. So spares are made wherever there is time, and settle where they
//! are used.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hearth_core::ByteSize;

use crate::heap::{HeapGuard, hard_limit};
use crate::ledger;
use crate::locker::{Locker, Unlocker, set_stack_here};
use crate::platform::{Platform, V8_STACK};
use crate::snapshot::Snapshot;

pub struct Isolate {
    /// Exited right after it was made; entered again for its disposal.
    inner: ManuallyDrop<v8::OwnedIsolate>,
    heap: Box<HeapGuard>,
    entered_by: EnteredBy,
}

/// Who has entered the isolate so far.
enum EnteredBy {
    AtHome(ThreadNumber),
    Travelling,
}

/// Where an isolate is entered without the Locker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    On(ThreadNumber),
    /// It has travelled: no thread is better than another.
    Nowhere,
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

/// The isolate, locked and entered by this thread. Not `Send`: V8 ties the lock to the thread.
pub struct LockedIsolate<'a> {
    isolate: &'a mut Isolate,
    _not_send: PhantomData<*mut ()>,
}

// SAFETY: V8 demands that an isolate is used by one thread at a time, under its Locker where threads change. All use goes
// through `LockedIsolate` (exclusive borrow, takes the lock) and `Drop` (exclusive by ownership). The guard inside is only
// read by V8's callbacks on the thread that has the isolate.
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
        let heap = HeapGuard::install(&mut inner, heap);
        // SAFETY: `exit` demands that the isolate is this thread's current one: it was entered when it was made, just above.
        unsafe { inner.exit() };
        let entered_by = EnteredBy::AtHome(this_thread());
        Self { inner: ManuallyDrop::new(inner), heap, entered_by }
    }

    /// Runs `f` with the isolate locked and entered. Waits while another thread has it; callers who must not wait hold a
    /// lock of their own around it.
    pub fn with_lock<R>(&mut self, f: impl FnOnce(&mut LockedIsolate<'_>) -> R) -> R {
        let mut locker = std::pin::pin!(Locker::unlocked());
        if !matches!(self.entered_by, EnteredBy::AtHome(home) if home == this_thread()) {
            self.entered_by = EnteredBy::Travelling;
            locker.as_mut().lock(&self.inner);
        }
        // SAFETY: `enter` demands that no other thread is in the isolate (`&mut self`), and the lock unless this is the only
        // thread that ever was: both as found above. `locked` is dropped, and so exits, before `locker` unlocks.
        unsafe { self.inner.enter() };
        let mut locked = LockedIsolate { isolate: self, _not_send: PhantomData };
        f(&mut locked)
    }

    /// Makes this thread the isolate's home, if it still has one.
    pub fn move_here(&mut self) {
        match &mut self.entered_by {
            EnteredBy::AtHome(home) if *home != this_thread() => *home = this_thread(),
            EnteredBy::AtHome(_) | EnteredBy::Travelling => return,
        }
        self.with_lock(|isolate| set_stack_here(isolate, V8_STACK));
    }

    pub(crate) fn home(&self) -> Home {
        match self.entered_by {
            EnteredBy::AtHome(home) => Home::On(home),
            EnteredBy::Travelling => Home::Nowhere,
        }
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
        // has it (`&mut self`), and no Locker is held, as disposal demands. `inner` is not used again.
        unsafe {
            self.inner.enter();
            ManuallyDrop::drop(&mut self.inner);
        }
    }
}

// === impl LockedIsolate ===

impl LockedIsolate<'_> {
    /// Runs `f` with V8's lock given up. No scope of V8's may be open, which the exclusive borrow shows.
    pub fn unlocked<R>(&mut self, f: impl FnOnce() -> R) -> R {
        // SAFETY: `exit` demands that the isolate is current: it is, from `with_lock` on, but for the span below.
        unsafe { self.isolate.inner.exit() };
        let result = {
            let mut unlocker = std::pin::pin!(Unlocker::locked());
            if matches!(self.isolate.entered_by, EnteredBy::Travelling) {
                unlocker.as_mut().unlock(&self.isolate.inner);
            }
            f()
        };
        // SAFETY: the unlocker's end took the lock back.
        unsafe { self.isolate.inner.enter() };
        result
    }

    pub(crate) fn home(&self) -> Home {
        self.isolate.home()
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
