//! The part of a worker that all threads share: the inbox, the lock, and what can be seen without it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError, Weak};
use std::time::Instant;

use hearth_core::{Failure, MaybeReady, Request};
use tokio::sync::Notify;

use super::counters::WorkerCounters;
use super::inner::{InlineReply, WorkerInner};
use super::timer::TimerDriver;
use super::worker_ref::WorkerRef;
use super::{Event, RequestTiming, TimedReply, WorkerId};
use crate::app::App;
use crate::isolate::ThreadNumber;
use crate::memory_accounting::IsolateUsage;
use crate::scheduler::{DeferredReplies, DispatchState, ThreadPolicy};
use crate::spare_isolate::SpareIsolate;

/// Events that one thread handles before other tasks have their turn.
const MAX_BATCH: usize = 128;

pub(crate) struct WorkerShared {
    pub(crate) id: WorkerId,
    pub(super) created: Instant,
    pub(crate) app: Arc<App>,
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) dispatch: DispatchState,
    inbox: Mutex<VecDeque<Event>>,
    /// The length of the inbox, as far as can be told without its lock.
    inbox_length: AtomicUsize,
    pub(super) inner: Mutex<WorkerInner>,
    pub(super) timer: Arc<TimerDriver>,
    pub(super) status: Arc<WorkerStatus>,
    pub(super) memory: Arc<IsolateUsage>,
}

/// What other threads can see of a worker without locking it.
#[derive(Default)]
pub(super) struct WorkerStatus {
    pub(super) active: AtomicU32,
    pub(super) busy: AtomicBool,
    pub(super) retiring: AtomicBool,
    pub(super) worn: AtomicBool,
    /// The worker gets no more requests.
    pub(super) draining: AtomicBool,
    pub(super) gone: AtomicBool,
    /// Which hooks the app has, as bits.
    pub(super) hooks: AtomicU32,
    pub(super) counters: WorkerCounters,
    /// The number of the thread that entered the isolate last; 0: none has.
    pub(super) last_thread: AtomicU64,
    /// What is under way besides requests ([`BackgroundGuard`](super::BackgroundGuard)).
    pub(super) background_tasks: AtomicU32,
    pub(super) has_idle_waiters: AtomicBool,
    pub(super) became_idle: Notify,
    pub(super) replies: Arc<DeferredReplies>,
}

// === impl WorkerShared ===

impl WorkerShared {
    pub(super) fn new(spare: SpareIsolate, app: Arc<App>, policy: ThreadPolicy) -> Arc<Self> {
        let runtime = tokio::runtime::Handle::current();
        Arc::new_cyclic(|weak: &Weak<Self>| {
            let status = Arc::<WorkerStatus>::default();
            let worker_ref = WorkerRef::new(weak.clone(), status.clone(), runtime.clone());
            let id = WorkerId::next();
            let (inner, memory) = WorkerInner::new(spare, app.clone(), worker_ref, id);
            Self {
                id,
                created: Instant::now(),
                inner: Mutex::new(inner),
                app,
                runtime,
                dispatch: DispatchState::new(policy),
                inbox: Mutex::default(),
                inbox_length: AtomicUsize::new(0),
                timer: TimerDriver::new(),
                status,
                memory,
            }
        })
    }

    /// Pushes an event to the inbox and handles what is there, unless another thread does.
    pub(crate) fn post(self: &Arc<Self>, event: Event) {
        self.push(event);
        self.drain_or_schedule();
    }

    /// The same from a place that must not run JavaScript: a task handles the inbox.
    pub(super) fn post_later(self: &Arc<Self>, event: Event) {
        self.push(event);
        self.schedule();
    }

    fn push(&self, event: Event) {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.push_back(event);
        // A thread that finds the worker locked after this may go, since the holder checks the inbox after
        // unlocking (`is_inbox_empty`): of these two exchanges the later one sees what the other did before.
        self.inbox_length.swap(inbox.len(), Ordering::AcqRel);
    }

    pub(super) fn pop(&self) -> Option<Event> {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let event = inbox.pop_front();
        self.inbox_length.store(inbox.len(), Ordering::Relaxed);
        event
    }

    /// Handles a request within the call if this thread may run the worker, no other has it, and the inbox
    /// is empty; otherwise gives it back.
    #[expect(clippy::result_large_err, reason = "the request goes back as it came: a box would cost an allocation")]
    pub(super) fn try_handle_inline(
        self: &Arc<Self>,
        request: Request,
        timing: RequestTiming,
    ) -> Result<MaybeReady<TimedReply, InlineReply>, Request> {
        if !self.can_run_here() {
            return Err(request);
        }
        let Ok(mut inner) = self.inner.try_lock() else { return Err(request) };
        // An event that is pushed at this very moment may be overtaken: it is handled below.
        if self.inbox_length.load(Ordering::Relaxed) > 0 {
            return Err(request);
        }
        self.status.busy.store(true, Ordering::Relaxed);
        let reply = catch_unwind(AssertUnwindSafe(|| inner.handle_inline(self, request, timing)));
        let reply = reply.unwrap_or_else(|_| {
            inner.condemn_after_panic(self);
            MaybeReady::Ready((Err(Failure::Internal { message: "the runtime panicked".into() }), Instant::now()))
        });
        self.status.busy.store(false, Ordering::Relaxed);
        drop(inner);
        self.check_inbox();
        Ok(reply)
    }

    /// Handles what was pushed while this thread had the worker locked.
    pub(super) fn check_inbox(self: &Arc<Self>) {
        if !self.is_inbox_empty() {
            self.drain_or_schedule();
        }
    }

    /// For a thread that has unlocked the worker.
    fn is_inbox_empty(&self) -> bool {
        self.inbox_length.compare_exchange(0, 0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Handles the inbox here, or schedules that on a thread that may.
    pub(crate) fn drain_or_schedule(self: &Arc<Self>) {
        if self.can_run_here() {
            self.drain();
        } else {
            self.schedule();
        }
    }

    fn drain(self: &Arc<Self>) {
        for _ in 0..MAX_BATCH {
            let mut inner = match self.inner.try_lock() {
                Ok(inner) => inner,
                // The holder checks the inbox after it has unlocked the worker.
                Err(TryLockError::WouldBlock) => return,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            };
            // A thread that was scheduled for what another has handled meanwhile does not count as busy.
            if self.inbox_length.load(Ordering::Relaxed) > 0 {
                self.status.busy.store(true, Ordering::Relaxed);
                // A panic in here is the runtime's fault and must not spread: the worker goes, the process stays.
                if catch_unwind(AssertUnwindSafe(|| inner.drain(self, MAX_BATCH))).is_err() {
                    inner.condemn_after_panic(self);
                }
                self.status.busy.store(false, Ordering::Relaxed);
            }
            let replies = self.status.replies.take();
            drop(inner);
            replies.send();
            if self.is_inbox_empty() {
                return;
            }
            // A long turn may have changed the tier of the next ones.
            if !self.can_run_here() {
                break;
            }
        }
        self.schedule();
    }
}

impl Drop for WorkerShared {
    fn drop(&mut self) {
        self.timer.close();
        // The thread that drops the last handle may have requests to serve.
        let dropped = Failure::Internal { message: "the worker was dropped".into() };
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(ended) = inner.end(dropped) {
            self.dispatch.dispose(ended, None);
        }
    }
}

// === impl WorkerStatus ===

impl WorkerStatus {
    pub(super) fn set_active(&self, active: usize) {
        let now = u32::try_from(active).unwrap_or(u32::MAX);
        // Only the thread that has the worker writes it, and most requests end before it was anything but 0.
        if self.active.load(Ordering::Relaxed) == now {
            return;
        }
        self.active.store(now, Ordering::SeqCst);
        if active == 0 && self.has_idle_waiters.load(Ordering::SeqCst) {
            self.became_idle.notify_waiters();
        }
    }

    pub(super) fn set_last_thread(&self, thread: ThreadNumber) {
        self.last_thread.store(thread.0, Ordering::Relaxed);
    }
}
