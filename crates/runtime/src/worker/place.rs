//! Which threads may enter a worker. Whoever has an event and may not enter has somebody called who may.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Shared;
use super::desk::Desk;
use crate::isolate::{ThreadNumber, this_thread};
use crate::threads::Lane;

/// Where a worker's turns run.
#[derive(Clone)]
pub enum Place {
    /// On whichever thread has something for it.
    Inline,
    /// The same, but in the lane while the app is slow.
    InlineOrLane(Lane),
    /// On the thread that starts it, which must run a single-threaded tokio runtime and serve this desk.
    Pinned(Arc<Desk>),
}

pub(super) struct Seat {
    kind: Kind,
    /// Somebody was called and has not come yet.
    called: AtomicBool,
}

enum Kind {
    Inline,
    InlineOrLane(Lane),
    Pinned(ThreadNumber, Arc<Desk>),
}

thread_local! {
    static IN_LANE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl Seat {
    pub(super) fn take(place: Place) -> Self {
        let kind = match place {
            Place::Inline => Kind::Inline,
            Place::InlineOrLane(lane) => Kind::InlineOrLane(lane),
            Place::Pinned(desk) => Kind::Pinned(this_thread(), desk),
        };
        Self { kind, called: AtomicBool::new(false) }
    }

    /// Looks out for what somebody who was called will bring, where that may be soon.
    pub(super) fn look_for<T>(&self, answer: impl FnMut() -> Option<T>) -> Option<T> {
        match &self.kind {
            Kind::Pinned(_, desk) => desk.look_for(answer),
            Kind::Inline | Kind::InlineOrLane(_) => None,
        }
    }
}

impl Shared {
    /// Whether this thread may enter the worker.
    pub(super) fn may_enter(&self) -> bool {
        match &self.seat.kind {
            Kind::Inline => true,
            Kind::InlineOrLane(_) => !self.app.pace.is_slow() || IN_LANE.get(),
            Kind::Pinned(home, _) => *home == this_thread(),
        }
    }

    /// Has a thread that may enter look into the inbox.
    pub(super) fn call(self: &Arc<Self>) {
        // Who was called before has yet to look, and will find what came meanwhile.
        if self.seat.called.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = self.clone();
        match &self.seat.kind {
            Kind::InlineOrLane(lane) if self.app.pace.is_slow() => {
                let runtime = self.runtime.clone();
                lane.run(move || {
                    let _inside = runtime.enter();
                    IN_LANE.set(true);
                    shared.come();
                    IN_LANE.set(false);
                });
            }
            Kind::Inline | Kind::InlineOrLane(_) => {
                self.runtime.spawn(async move { shared.come() });
            }
            Kind::Pinned(_, desk) => desk.call(shared),
        }
    }

    /// Whoever was called is here.
    pub(super) fn come(self: &Arc<Self>) {
        self.seat.called.store(false, Ordering::Release);
        self.run();
    }
}
