//! The way back into a worker for what runs outside of it: ops, timers, bodies, sockets.

use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Instant;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::Event;
use super::counters::WorkerCounters;
use super::shared::{WorkerShared, WorkerStatus};
use crate::context_state::OpOutcome;
use crate::scheduler::DeferredReplies;

/// Does not keep the worker alive.
#[derive(Clone)]
pub(crate) struct WorkerRef {
    pub(super) shared: Weak<WorkerShared>,
    pub(super) status: Arc<WorkerStatus>,
    pub(super) runtime: Handle,
}

impl WorkerRef {
    pub(super) fn new(shared: Weak<WorkerShared>, status: Arc<WorkerStatus>, runtime: Handle) -> Self {
        Self { shared, status, runtime }
    }

    /// Runs an op's work outside of the isolate and posts its outcome.
    pub(crate) fn spawn_op(&self, op: u64, work: impl Future<Output = OpOutcome> + Send + 'static) -> AbortHandle {
        let shared = self.shared.clone();
        let task = self.runtime.spawn(async move {
            let outcome = work.await;
            if let Some(shared) = shared.upgrade() {
                shared.post(Event::OpDone { op, outcome });
            }
        });
        task.abort_handle()
    }

    /// Runs a long computation on a thread that serves no requests. `None` when it panicked, or the worker or its threads
    /// are gone.
    pub(crate) async fn run_off_thread<R: Send + 'static>(
        self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Option<R> {
        let pools = self.shared.upgrade()?.dispatch.pools().cloned();
        match pools {
            Some(pools) => pools.spawn_blocking(work).await,
            None => self.runtime.spawn_blocking(work).await.ok(),
        }
    }

    /// Posts `event` at a later time, unless the handle aborts it.
    pub(super) fn post_at(&self, at: Instant, event: Event) -> AbortHandle {
        let shared = self.shared.clone();
        let task = self.runtime.spawn(async move {
            tokio::time::sleep_until(at.into()).await;
            if let Some(shared) = shared.upgrade() {
                shared.post(event);
            }
        });
        task.abort_handle()
    }

    /// Posts from a destructor or a poll: a task handles the event.
    pub(super) fn post_later(&self, event: Event) {
        if let Some(shared) = self.shared.upgrade() {
            shared.post_later(event);
        }
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    pub(crate) fn counters(&self) -> &WorkerCounters {
        &self.status.counters
    }

    pub(crate) fn replies(&self) -> &Arc<DeferredReplies> {
        &self.status.replies
    }

    pub(super) fn set_hooks(&self, bits: u32) {
        self.status.hooks.store(bits, Ordering::Relaxed);
    }

    /// Another worker should take this one's place soon.
    pub(crate) fn set_worn(&self) {
        self.status.worn.store(true, Ordering::Relaxed);
    }

    /// The worker should finish its requests and be replaced.
    pub(crate) fn retire(&self) {
        self.status.retiring.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_draining(&self) -> bool {
        self.status.draining.load(Ordering::Relaxed) || self.status.retiring.load(Ordering::Relaxed)
    }

    pub(super) fn set_active(&self, active: usize) {
        self.status.set_active(active);
    }
}
