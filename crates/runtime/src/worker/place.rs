//! Which threads may enter a worker. Whoever has an event and may not enter has somebody called who may.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Shared;
use crate::isolate::{ThreadNumber, this_thread};
use crate::threads::Lane;

/// Where a worker's turns run.
#[derive(Clone)]
pub enum Place {
    /// On whichever thread has something for it.
    Inline,
    /// The same, but in the lane while the app is slow.
    InlineOrLane(Lane),
    /// On the thread that starts it, which must run a single-threaded tokio runtime.
    Pinned,
}

pub(super) struct Seat {
    kind: Kind,
    /// Somebody was called and has not come yet.
    called: AtomicBool,
}

enum Kind {
    Inline,
    InlineOrLane(Lane),
    Pinned(ThreadNumber),
}

thread_local! {
    static IN_LANE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl Seat {
    pub(super) fn take(place: Place) -> Self {
        let kind = match place {
            Place::Inline => Kind::Inline,
            Place::InlineOrLane(lane) => Kind::InlineOrLane(lane),
            Place::Pinned => Kind::Pinned(this_thread()),
        };
        Self { kind, called: AtomicBool::new(false) }
    }
}

impl Shared {
    /// Whether this thread may enter the worker.
    pub(super) fn may_enter(&self) -> bool {
        match &self.seat.kind {
            Kind::Inline => true,
            Kind::InlineOrLane(_) => !self.app.pace.is_slow() || IN_LANE.get(),
            Kind::Pinned(home) => *home == this_thread(),
        }
    }

    /// Has a thread that may enter look into the inbox.
    pub(super) fn call(self: &Arc<Self>) {
        // Who was called before has yet to look, and will find what came meanwhile.
        if self.seat.called.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = self.clone();
        let come = move || {
            shared.seat.called.store(false, Ordering::Release);
            shared.run();
        };
        match &self.seat.kind {
            Kind::InlineOrLane(lane) if self.app.pace.is_slow() => {
                let runtime = self.runtime.clone();
                lane.run(move || {
                    let _inside = runtime.enter();
                    IN_LANE.set(true);
                    come();
                    IN_LANE.set(false);
                });
            }
            Kind::Inline | Kind::InlineOrLane(_) | Kind::Pinned(_) => {
                self.runtime.spawn(async move { come() });
            }
        }
    }
}
