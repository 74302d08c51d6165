//! Which threads may enter a worker. Whoever has an event and may not enter has somebody called who may.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hearth_core::Gait;

use super::Shared;
use super::chore::Chore;
use super::core::Alive;
use super::desk::Desk;
use super::event::Event;
use crate::cover::GivingWay;
use crate::isolate::{ThreadNumber, this_thread};
use crate::threads::Lane;
use crate::watchdog::are_others_at_work;

/// Where a worker's turns run.
#[derive(Clone)]
pub enum Place {
    /// On whichever thread has something for it.
    Inline,
    /// The same once the app is known to be quick; until then apart from others, in the lane if it is slow.
    InlineOrLane(Lane),
    /// On the thread that starts it, which must run a single-threaded tokio runtime and serve this desk. What it leaves behind
    /// is cleared away in the lane.
    Pinned(Arc<Desk>, Lane),
}

pub(super) struct Seat {
    kind: Kind,
    /// Somebody was called and has not come yet.
    called: AtomicBool,
}

enum Kind {
    Inline,
    InlineOrLane(Lane),
    Pinned(ThreadNumber, Arc<Desk>, Lane),
}

/// Where turns run that keep away from quick apps'. Who is further out may enter what belongs further in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Apart {
    /// In a task of their own, on the thread that has the request: where nobody else is at work, there is nobody to keep away
    /// from, and on a machine at rest a hand-over costs more than a short turn. Not in the request's own task: who comes to
    /// cover a turn that proves long could not take over that one, and the answer with it.
    Task,
    /// On a thread of the trial's.
    Trial,
    Lane,
}

thread_local! {
    /// Where this thread is.
    static APART: std::cell::Cell<Option<Apart>> = const { std::cell::Cell::new(None) };
}

impl Seat {
    pub(super) fn take(place: Place) -> Self {
        let kind = match place {
            Place::Inline => Kind::Inline,
            Place::InlineOrLane(lane) => Kind::InlineOrLane(lane),
            Place::Pinned(desk, lane) => Kind::Pinned(this_thread(), desk, lane),
        };
        Self { kind, called: AtomicBool::new(false) }
    }

    /// Looks out for what somebody who was called will bring, where that may be soon.
    pub(super) fn look_for<T>(&self, answer: impl FnMut() -> Option<T>) -> Option<T> {
        match &self.kind {
            Kind::Pinned(_, desk, _) => desk.look_for(answer),
            Kind::Inline | Kind::InlineOrLane(_) => None,
        }
    }

    /// Drops what a worker leaves behind, and then `after`. A heap that has grown to its limit takes tens of milliseconds and more,
    /// in which no turn runs: nobody would come to cover for a thread that others need.
    pub(super) fn clear_away(&self, mut remains: Box<Alive>, after: Option<Chore>) {
        remains.set_chore(after);
        match &self.kind {
            Kind::Inline => drop(remains),
            Kind::InlineOrLane(lane) => lane.clear_away(remains),
            Kind::Pinned(home, _, lane) if *home == this_thread() => {
                remains.release_locker();
                lane.clear_away(remains);
            }
            Kind::Pinned(_, desk, lane) => desk.clear_away(remains, lane.clone()),
        }
    }
}

impl Shared {
    /// Whether this thread may enter the worker.
    pub(super) fn may_enter(&self) -> bool {
        match &self.seat.kind {
            Kind::Inline => true,
            Kind::InlineOrLane(lane) => self.app.pace.is_quick() || APART.get() >= self.belongs(lane),
            Kind::Pinned(home, ..) => *home == this_thread(),
        }
    }

    /// The same for a moment's work of ours, which is not the app's doing.
    pub(super) fn may_step_in(&self) -> bool {
        match &self.seat.kind {
            Kind::InlineOrLane(_) => self.app.pace.gait() != Gait::Slow,
            Kind::Inline | Kind::Pinned(..) => self.may_enter(),
        }
    }

    fn belongs(&self, lane: &Lane) -> Option<Apart> {
        match self.app.pace.gait() {
            Gait::Quick => None,
            Gait::Unknown if !are_others_at_work(self.id) => Some(Apart::Task),
            Gait::Unknown => (!lane.trial().is_full()).then_some(Apart::Trial),
            Gait::Slow => Some(Apart::Lane),
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
            Kind::Inline => shared.come_soon(),
            Kind::InlineOrLane(lane) => match self.belongs(lane) {
                None => shared.come_soon(),
                Some(Apart::Task) => {
                    let runtime = self.runtime.clone();
                    runtime.spawn(async move { shared.come_apart(Apart::Task) });
                }
                Some(Apart::Trial) => lane.trial().run(move || shared.come_apart(Apart::Trial)),
                Some(Apart::Lane) => lane.run(move || shared.come_apart(Apart::Lane)),
            },
            Kind::Pinned(_, desk, _) => desk.call(shared),
        }
    }

    fn come_soon(self: Arc<Self>) {
        let runtime = self.runtime.clone();
        runtime.spawn(async move { self.come() });
    }

    fn come_apart(self: Arc<Self>, place: Apart) {
        let runtime = self.runtime.clone();
        let _inside = runtime.enter();
        let _giving_way = (place == Apart::Task).then(GivingWay::begin);
        APART.set(Some(place));
        self.come();
        APART.set(None);
    }

    /// The same as posting it, for a caller whose task does nothing else until the event is handled: it may be handled in there.
    pub(super) fn post_alone(self: &Arc<Self>, event: Event) {
        let before = APART.replace(APART.get().max(Some(Apart::Task)));
        self.post(event);
        APART.set(before);
    }

    /// Whoever was called is here. What is known of the app may have changed meanwhile, and where it belongs.
    pub(super) fn come(self: &Arc<Self>) {
        self.seat.called.store(false, Ordering::Release);
        self.look();
    }
}
