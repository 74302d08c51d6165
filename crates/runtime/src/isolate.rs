//! An isolate that any thread may enter, one at a time.
//!
//! The `v8` crate's `OwnedIsolate` is entered when it is created and must be dropped in reverse
//! order of creation. An [`Isolate`] here is a thread's current one only while a [`LockedIsolate`]
//! borrows it. So isolates move between threads freely and are dropped in any order, by any thread.
//!
//! An isolate's [`Locking`] says how threads enter it. It is chosen before a second thread enters:
//!
//! - `Locker`: for each borrow, V8's own lock is taken and released and the isolate entered and
//!   exited, as V8's header demands of programs that use an isolate from several threads. Uses V8's
//!   public API alone.
//! - `HeldLocker`: the same with one lock for good: the thread that has it keeps it until the
//!   isolate is to be destroyed. No other thread may borrow the isolate meanwhile.
//! - `NoLocker`: while the isolate stays on the thread that entered it last, a borrow sets V8's
//!   thread-locals and no more. When another thread borrows it, it *migrates*: it is exited on the
//!   old thread's account and entered on the new one, and the stack limit is set. This saves 2,400
//!   instructions of a warm request: a Locker allocates and frees the state of a thread that was
//!   interrupted, and no thread is interrupted between two borrows.
//!
//! V8's header demands a Locker in the last case, too. V8's source does not need it, under
//! conditions:
//!
//! 1. V8 is one of the versions that were read for this: `platform.rs` refuses any other.
//! 2. Between two borrows no scope, handle scope or try-catch is open and no JavaScript runs; an
//!    isolate that was terminated or saw a panic is not entered for JavaScript again.
//!    `ThreadLocalTop`, which a Locker clears, is at rest then.
//! 3. A migration is `Exit`, `Enter` and the public `SetStackLimit`, all three: they set the
//!    thread's id, the start of the stack for collections, V8's thread-locals, the limit for recursion
//!    and the bounds of the central stack. The isolate is made current before `Exit`, as `Exit`
//!    expects.
//! 4. Nothing allocates in the isolate's cppgc heap, which is bound to the thread that created it:
//!    neither Hearth nor these versions of V8.
//! 5. There is no profiler, no inspector and no trap handler for WebAssembly: each remembers
//!    threads.
//! 6. All threads that enter isolates descend from the one that started V8 (memory protection keys
//!    are inherited).
//! 7. One thread at a time borrows it (`&mut self`), under a lock that orders memory
//!    (`Mutex<WorkerInner>`, `SharedIsolate`).
//! 8. It was never under a Locker: V8 would ask that one whether a thread has it.
//!
//! Invariant of `NoLocker`: V8's list of entered isolates has one entry for it, of the thread where
//! it is, until its disposal.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hearth_core::ByteSize;

use crate::current_isolate::{CurrentIsolate, with_none};
use crate::heap::{HeapGuard, hard_limit};
use crate::locker::{HeldLock, Locker, is_locked_here};
use crate::memory_accounting;
use crate::oom_attribution::CreatingIsolate;
use crate::platform::{Platform, V8_STACK};
use crate::snapshot::Snapshot;
use crate::stack_limit::set_stack_here;

pub struct Isolate {
    inner: ManuallyDrop<v8::OwnedIsolate>,
    heap: Arc<HeapGuard>,
    /// The thread that entered it last.
    last_thread: ThreadNumber,
    access: Access,
}

/// How threads enter an isolate; what each means is at the top of `isolate.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locking {
    /// Under V8's own lock, taken for each borrow.
    Locker,
    /// Under one lock that the thread which is there now keeps until the isolate is destroyed.
    HeldLocker,
    /// Without V8's lock, by moving the isolate from thread to thread.
    NoLocker,
}

/// The state behind [`Locking`].
enum Access {
    /// Not chosen yet: only the thread that created it enters it.
    New,
    Locker,
    HeldLocker(HeldLock),
    /// Entered permanently on its thread; a borrow sets and resets the thread's current isolate.
    NoLocker(CurrentIsolate),
}

/// A thread of this process; never 0, never reused. The standard library's id cannot be stored in
/// an atomic, and reading it costs several times as much.
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

/// The first isolate of a process sets up V8's allocator, which aborts when two threads do it at
/// once.
fn create_v8_isolate(params: v8::CreateParams) -> v8::OwnedIsolate {
    let _creating = CreatingIsolate::begin();
    static ALLOCATOR: Mutex<AllocatorState> = Mutex::new(AllocatorState::NotInitialized);
    let mut first = ALLOCATOR.lock().unwrap_or_else(PoisonError::into_inner);
    if let AllocatorState::Initialized = *first {
        drop(first);
        return v8::Isolate::new(params);
    }
    let isolate = v8::Isolate::new(params);
    *first = AllocatorState::Initialized;
    isolate
}

enum AllocatorState {
    NotInitialized,
    Initialized,
}

/// The isolate as this thread's current one. Not `Send`: the thread that entered it exits it.
pub struct LockedIsolate<'a> {
    isolate: &'a mut Isolate,
    exit: Exit,
    _not_send: PhantomData<*mut ()>,
}

/// How a thread exits, and its current isolate before.
#[derive(Clone, Copy)]
enum Exit {
    /// Entered by V8's own functions.
    Entered(CurrentIsolate),
    /// Made current only.
    Present(CurrentIsolate),
}

// SAFETY: V8 demands that an isolate is used by one thread at a time, and that it is told of
// another thread: by a Locker, or as the top of this file says. All use goes through
// `LockedIsolate` (exclusive borrow, which does both) and `Drop` (exclusive by ownership), with no
// V8 scope left open in between. A lock that is held stays with its thread (`HeldLock`). The guard
// inside is only read by V8's callbacks on the thread that has the isolate.
unsafe impl Send for Isolate {}

impl Isolate {
    /// A new isolate on the snapshot, with the app's memory limit (0: only V8's own).
    pub fn new(_platform: Platform, snapshot: &Snapshot, heap: ByteSize) -> Self {
        let params = v8::Isolate::create_params()
            .heap_limits(0, hard_limit(heap))
            .allow_atomics_wait(false)
            .external_references(crate::bootstrap::external_references())
            .snapshot_blob(snapshot.blob());
        // `v8::Isolate::new` enters it.
        let mut inner = create_v8_isolate(params);
        inner.set_microtasks_policy(v8::MicrotasksPolicy::Explicit);
        inner.set_capture_stack_trace_for_uncaught_exceptions(true, 10);
        crate::callbacks::install(&mut inner);
        inner.set_slot(snapshot.clone());
        let heap = HeapGuard::install(&mut inner, heap);
        // SAFETY: `exit` demands that it is this thread's current isolate, which
        // `create_v8_isolate` has made it. The thread's earlier isolate is current again.
        unsafe { inner.exit() };
        Self { inner: ManuallyDrop::new(inner), heap, last_thread: this_thread(), access: Access::New }
    }

    /// Chooses how threads enter it. For the first thread that will. The first choice counts.
    pub fn set_locking(&mut self, locking: Locking) {
        let Access::New = self.access else { return };
        self.access = match locking {
            Locking::Locker => Access::Locker,
            // SAFETY: demands that the isolate lives until the lock is released: `drop` sees to that.
            Locking::HeldLocker => Access::HeldLocker(unsafe { HeldLock::take(&self.inner) }),
            Locking::NoLocker => Access::NoLocker(self.enter_permanently()),
        };
    }

    /// Releases a lock that this thread keeps. Other threads may borrow it from now on, under their
    /// own locks.
    pub(crate) fn release_locker(&mut self) {
        if let Access::HeldLocker(held) = &self.access {
            held.release();
        }
    }

    /// Runs `f` with the isolate as the thread's current one.
    pub fn with_lock<R>(&mut self, f: impl FnOnce(&mut LockedIsolate<'_>) -> R) -> R {
        // Dropped, and so unlocked, after `locked` has exited.
        let locker = pin!(Locker::unlocked());
        let exit = match &self.access {
            Access::NoLocker(current) if self.last_thread == this_thread() => {
                // SAFETY: `set` demands that the value was made on this thread, where the isolate
                // is entered: it was the last to enter it; and that no other thread is in the
                // isolate: `&mut self`. `locked` is dropped, and so exits, before the borrow ends.
                Exit::Present(unsafe { current.set() })
            }
            _ => self.enter_slow(locker),
        };
        let mut locked = LockedIsolate { isolate: self, exit, _not_send: PhantomData };
        f(&mut locked)
    }

    /// Enters it where that is more than making it current.
    #[cold]
    #[inline(never)]
    fn enter_slow(&mut self, locker: Pin<&mut Locker>) -> Exit {
        let here = this_thread();
        if let (Access::New, true) = (&self.access, self.last_thread != here) {
            // A second thread, before a choice was made.
            self.set_locking(Locking::Locker);
        }
        let is_locked = match &self.access {
            Access::NoLocker(_) => {
                self.migrate_to_this_thread();
                let Access::NoLocker(current) = &self.access else { unreachable!("it stays what it is") };
                // SAFETY: as in `with_lock`: it has just migrated to this thread.
                let before = unsafe { current.set() };
                set_stack_here(&self.inner, V8_STACK);
                return Exit::Present(before);
            }
            Access::New => true,
            Access::Locker => false,
            Access::HeldLocker(held) => {
                let is_here = held.is_held_here();
                assert!(
                    is_here || !held.is_held(),
                    "a thread that keeps an isolate's lock gives it up before another comes"
                );
                is_here
            }
        };
        if !is_locked {
            // SAFETY: demands that the isolate lives until the lock is dropped: `with_lock` drops it before its borrow ends.
            unsafe { locker.lock(&self.inner) };
        }
        // SAFETY: V8 demands that this thread has the isolate's lock, or is the only one that was ever in it (`New`); and that it exits
        // what it enters: `locked` does.
        unsafe { self.inner.enter() };
        self.last_thread = here;
        if !is_locked && self.heap.exceeded().is_some() {
            // A termination that was requested between two locks is lost: it is requested again.
            self.inner.terminate_execution();
        }
        Exit::Entered(CurrentIsolate::record_entered(&self.inner))
    }

    /// Migrates it, without a Locker, if another thread entered it last.
    fn migrate_to_this_thread(&mut self) {
        let here = this_thread();
        let Access::NoLocker(current) = self.access else { return };
        if self.last_thread == here {
            return;
        }
        self.access = Access::NoLocker(with_none(|| {
            // SAFETY: `set` and `exit` demand that no thread is in the isolate (`&mut self`, and
            // the last thread has exited its borrow), that it is the current one, and an entry to
            // take off V8's list: the one of its last thread. `exit` restores what was current when
            // that entry was made: nothing, since it was made with no isolate, too.
            unsafe {
                current.set();
                self.inner.exit();
                self.inner.enter();
            }
            CurrentIsolate::on_this_thread(&self.inner)
        }));
        self.last_thread = here;
    }

    /// Enters it on this thread until it migrates.
    fn enter_permanently(&mut self) -> CurrentIsolate {
        self.last_thread = this_thread();
        with_none(|| {
            // SAFETY: V8 demands that no other thread is in it: `&mut self`. It is exited by a
            // migration, or when it is destroyed.
            unsafe { self.inner.enter() };
            set_stack_here(&self.inner, V8_STACK);
            CurrentIsolate::on_this_thread(&self.inner)
        })
    }

    /// Its memory usage.
    pub(crate) fn memory(&self) -> Arc<memory_accounting::IsolateUsage> {
        self.heap.usage()
    }

    /// For an isolate that gets its app later.
    pub(crate) fn set_heap_limit(&self, limit: ByteSize) {
        self.heap.set_limit(limit);
    }

    /// For termination by other threads.
    pub fn handle(&self) -> v8::IsolateHandle {
        self.inner.thread_safe_handle()
    }
}

impl Drop for Isolate {
    fn drop(&mut self) {
        if let Access::HeldLocker(held) = &self.access {
            held.release();
            if held.is_held() {
                // Its thread would unlock freed memory.
                tracing::error!(target: "hearth::worker", "isolate dropped while its thread keeps its lock: memory is leaked");
                return;
            }
        }
        self.migrate_to_this_thread();
        // SAFETY: the crate's drop demands that the isolate is the thread's current one, and exits
        // it itself, which takes the last entry off its list; V8 demands that no thread has it
        // locked or is in it: no lock is held any more, and no other thread has it (`&mut self`).
        // `inner` is not used again, and the thread's earlier isolate is current again before
        // anything else runs.
        unsafe {
            match self.access {
                Access::NoLocker(current) => with_none(|| {
                    current.set();
                    ManuallyDrop::drop(&mut self.inner);
                }),
                Access::New | Access::Locker | Access::HeldLocker(_) => {
                    self.inner.enter();
                    ManuallyDrop::drop(&mut self.inner);
                }
            }
        }
    }
}

// === impl LockedIsolate ===

impl LockedIsolate<'_> {
    pub(crate) fn last_thread(&self) -> ThreadNumber {
        self.isolate.last_thread
    }

    pub(crate) fn heap(&self) -> &HeapGuard {
        &self.isolate.heap
    }

    /// Whether this thread has V8's own lock of it.
    pub fn has_locker(&self) -> bool {
        is_locked_here(&self.isolate.inner)
    }

    /// Checks the memory in use where a context has started.
    pub(crate) fn check_heap_at_start(&mut self) {
        let Isolate { inner, heap, .. } = &mut *self.isolate;
        heap.check_start(inner);
    }

    /// All garbage was collected: returns what is left.
    pub(crate) fn record_full_collection(&mut self) -> ByteSize {
        let Isolate { inner, heap, .. } = &mut *self.isolate;
        heap.record_full_collection(inner)
    }

    /// Compares the memory in use with the limit.
    pub(crate) fn check_heap(&mut self) {
        let Isolate { inner, heap, .. } = &mut *self.isolate;
        heap.check(inner);
    }
}

impl Drop for LockedIsolate<'_> {
    fn drop(&mut self) {
        match self.exit {
            Exit::Present(before) => {
                // SAFETY: `set` demands that the thread may still use its isolate of before
                // `with_lock`: the caller that made it current holds that isolate until after this,
                // since borrows nest.
                unsafe { before.set() };
            }
            Exit::Entered(before) => {
                // SAFETY: `exit` demands that the isolate is the current one, entered here:
                // `enter_slow` did that, and borrows nest. V8 makes the thread's earlier isolate
                // current again.
                unsafe { self.isolate.inner.exit() };
                before.record_left();
            }
        }
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
