//! Decides which thread may run a worker. A thread that posts an event but may not run the worker
//! schedules it on one that may.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::handoff::NormalSliceGuard;
use super::latency_class::LatencyClass;
use super::pinned_mailbox::Mailbox;
use super::pool::{Priority, TurnPools};
use crate::isolate::{ThreadNumber, this_thread};
use crate::watchdog::is_another_worker_running;
use crate::worker::{BackgroundGuard, Event, LiveWorker, WorkerShared};

/// Where a worker's turns run.
#[derive(Clone)]
pub enum ThreadPolicy {
    /// On the thread that has something for it.
    Inline,
    /// The same once the app is known to be fast; until then in a tier of its own.
    ByLatency(TurnPools),
    /// On the thread that starts it, which must run a single-threaded tokio runtime and serve this
    /// mailbox. The worker's remains are dropped in the pools.
    Pinned(Arc<Mailbox>, TurnPools),
}

/// A worker's policy, and whether it is scheduled.
pub(crate) struct DispatchState {
    policy: Policy,
    /// A thread was asked to run the worker and has not begun yet.
    is_scheduled: AtomicBool,
}

enum Policy {
    Inline,
    ByLatency(TurnPools),
    Pinned(ThreadNumber, Arc<Mailbox>, TurnPools),
}

/// Where turns run that must not delay those of fast apps. A thread of a higher tier may also run
/// what requires a lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    /// A task of its own on the thread that has the request. While no other worker runs there is
    /// nothing to delay, and on an idle machine a hand-over costs more than a short turn. The request's
    /// own task would not do: a standby worker that takes over during a long turn could not poll that
    /// task, and so not send the reply.
    OwnTask,
    Probation,
    LowPriority,
}

thread_local! {
    /// The tier that this thread runs now.
    static CURRENT_TIER: Cell<Option<Tier>> = const { Cell::new(None) };
}

// === impl DispatchState ===

impl DispatchState {
    pub(crate) fn new(policy: ThreadPolicy) -> Self {
        let policy = match policy {
            ThreadPolicy::Inline => Policy::Inline,
            ThreadPolicy::ByLatency(pools) => Policy::ByLatency(pools),
            ThreadPolicy::Pinned(mailbox, pools) => Policy::Pinned(this_thread(), mailbox, pools),
        };
        Self { policy, is_scheduled: AtomicBool::new(false) }
    }

    /// Polls for the result of a scheduled event, where it may come within microseconds.
    pub(crate) fn spin_for<T>(&self, poll: impl FnMut() -> Option<T>) -> Option<T> {
        match &self.policy {
            Policy::Pinned(_, mailbox, _) => mailbox.spin_for(poll),
            Policy::Inline | Policy::ByLatency(_) => None,
        }
    }

    /// The pools for work that must not hold up a thread that serves requests; none where turns run inline.
    pub(crate) fn pools(&self) -> Option<&TurnPools> {
        match &self.policy {
            Policy::Inline => None,
            Policy::ByLatency(pools) | Policy::Pinned(_, _, pools) => Some(pools),
        }
    }

    /// Drops a worker that has ended, and then `after`. A heap that has grown to its limit takes tens of
    /// milliseconds, in which no turn runs: the watchdog would not hand off a thread that other tasks
    /// need.
    pub(crate) fn dispose(&self, mut ended: Box<LiveWorker>, after: Option<BackgroundGuard>) {
        ended.set_background(after);
        match &self.policy {
            Policy::Inline => drop(ended),
            Policy::ByLatency(pools) => pools.drop_off_thread(ended),
            Policy::Pinned(thread, _, pools) if *thread == this_thread() => {
                ended.release_locker();
                pools.drop_off_thread(ended);
            }
            Policy::Pinned(_, mailbox, pools) => mailbox.dispose(ended, pools.clone()),
        }
    }
}

// === impl WorkerShared ===

impl WorkerShared {
    /// Whether this thread may run the worker.
    pub(crate) fn can_run_here(&self) -> bool {
        match &self.dispatch.policy {
            Policy::Inline => true,
            Policy::ByLatency(pools) => self.app.latency.is_fast() || CURRENT_TIER.get() >= self.required_tier(pools),
            Policy::Pinned(thread, ..) => *thread == this_thread(),
        }
    }

    /// The same for short work of the runtime, whose length does not depend on the app.
    pub(crate) fn can_do_housekeeping_here(&self) -> bool {
        match &self.dispatch.policy {
            Policy::ByLatency(_) => self.app.latency.class() != LatencyClass::Slow,
            Policy::Inline | Policy::Pinned(..) => self.can_run_here(),
        }
    }

    fn required_tier(&self, pools: &TurnPools) -> Option<Tier> {
        match self.app.latency.class() {
            LatencyClass::Fast => None,
            LatencyClass::Unproven if !is_another_worker_running(self.id) => Some(Tier::OwnTask),
            LatencyClass::Unproven => (!pools.is_full(Priority::Ordinary)).then_some(Tier::Probation),
            LatencyClass::Slow => Some(Tier::LowPriority),
        }
    }

    /// Asks a thread that may run the worker to handle the inbox.
    pub(crate) fn schedule(self: &Arc<Self>) {
        // A thread that was asked before has yet to begin, and will find everything in the inbox.
        if self.dispatch.is_scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = self.clone();
        match &self.dispatch.policy {
            Policy::Inline => shared.spawn_drain(),
            Policy::ByLatency(pools) => match self.required_tier(pools) {
                None => shared.spawn_drain(),
                Some(tier @ Tier::OwnTask) => drop(self.runtime.spawn(async move { shared.run_on_tier(tier) })),
                Some(tier @ Tier::Probation) => pools.run(Priority::Ordinary, move || shared.run_on_tier(tier)),
                Some(tier @ Tier::LowPriority) => pools.run(Priority::Low, move || shared.run_on_tier(tier)),
            },
            Policy::Pinned(_, mailbox, _) => mailbox.schedule(shared),
        }
    }

    fn spawn_drain(self: Arc<Self>) {
        let runtime = self.runtime.clone();
        runtime.spawn(async move { self.on_scheduled() });
    }

    fn run_on_tier(self: Arc<Self>, tier: Tier) {
        let runtime = self.runtime.clone();
        let _inside = runtime.enter();
        let _normal_slice = (tier == Tier::OwnTask).then(NormalSliceGuard::begin);
        CURRENT_TIER.set(Some(tier));
        self.on_scheduled();
        CURRENT_TIER.set(None);
    }

    /// Posts an event that may be handled within the call: for a caller whose task does nothing else
    /// until the event is handled.
    pub(crate) fn post_inline(self: &Arc<Self>, event: Event) {
        let before = CURRENT_TIER.replace(CURRENT_TIER.get().max(Some(Tier::OwnTask)));
        self.post(event);
        CURRENT_TIER.set(before);
    }

    /// The scheduled thread begins. The app's latency class may have changed since, and with it the
    /// required tier.
    pub(crate) fn on_scheduled(self: &Arc<Self>) {
        self.dispatch.is_scheduled.store(false, Ordering::Release);
        self.drain_or_schedule();
    }
}
