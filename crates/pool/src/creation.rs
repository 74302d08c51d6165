//! The making of one thing, in a task of its own, so that a caller that goes away does not take it along; what does not have to
//! wait for anything may be made by its caller. However it ends, it is settled exactly once: the thing lands on its shelf, or all
//! who counted on it are told why not. A panic drops the `Creation`, whose `Drop` settles what is not settled.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;

use crate::keep::Keep;
use crate::rack::{Later, Rack};
use crate::shelf::AcquireError;
use crate::slot::{Slot, SlotId};

pub(crate) struct Creation<K: Keep> {
    rack: Arc<Rack<K>>,
    slot: SlotId,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    UnderWay,
    Settled,
}

impl<K: Keep> Creation<K> {
    pub(crate) fn new(rack: Arc<Rack<K>>, slot: SlotId) -> Self {
        Self { rack, slot, progress: Progress::UnderWay }
    }

    pub(crate) fn is_for(&self, rack: &Arc<Rack<K>>) -> bool {
        Arc::ptr_eq(&self.rack, rack)
    }

    pub(crate) fn start(self) {
        let runtime = self.rack.stock.runtime.clone();
        runtime.spawn(self.make());
    }

    /// The same for somebody who can do nothing until it is made: begins here, and is a task as soon as it has to wait. A task of
    /// its own from the start would have to be found by a thread, which may be another, whose caches are cold.
    pub(crate) fn start_here(self) {
        let runtime = self.rack.stock.runtime.clone();
        let _inside = runtime.enter();
        let mut making = Box::pin(self.make());
        // Nobody need be woken: the task looks again at once. A panic is not the caller's.
        let mut nobody = Context::from_waker(Waker::noop());
        let begun = catch_unwind(AssertUnwindSafe(|| making.as_mut().poll(&mut nobody)));
        if let Ok(Poll::Pending) = begun {
            runtime.spawn(making);
        }
    }

    async fn make(self) {
        let made = self.rack.keep().create(&self.rack.key).await;
        match made {
            Ok(thing) => self.land(thing),
            Err(error) => self.fail(&AcquireError::Failed(error)),
        }
    }

    fn land(mut self, thing: K::Thing) {
        self.progress = Progress::Settled;
        let (rack, stock) = (&self.rack, &self.rack.stock);
        let mut later = Later::new();
        let weighed = stock.keep.weight(&thing);
        let slot = Slot::new(self.slot, thing, Instant::now(), weighed);
        let mut room = stock.room();
        room.land(&slot, rack);
        let mut row = rack.lock();
        let over = row.land(slot, rack, &mut later);
        let needs_creation = row.needs_creation();
        drop(row);
        room.give_back(over.reserved, rack);
        drop(room);
        stock.carry_out(later);
        self.resume_after(over.pause);
        if needs_creation {
            stock.provide(rack);
        } else if stock.is_hungry() {
            // The thing may weigh less than was reserved, or be idle already.
            stock.feed();
        }
        stock.feed_group_of(rack);
    }

    fn fail(mut self, error: &AcquireError<K::Error>) {
        self.settle_failed(error);
    }

    fn settle_failed(&mut self, error: &AcquireError<K::Error>) {
        self.progress = Progress::Settled;
        let (rack, stock) = (&self.rack, &self.rack.stock);
        let mut later = Later::new();
        let mut room = stock.room();
        let over = rack.lock().fail(self.slot, error, &mut later);
        room.give_back(over.reserved, rack);
        stock.unlock(room);
        stock.carry_out(later);
        self.resume_after(over.pause);
        // The room is free for others, and callers who counted on no creation may begin one of their own.
        stock.provide(rack);
        stock.feed_group_of(rack);
        stock.strike_off_if_empty(rack);
    }
}

impl<K: Keep> Creation<K> {
    /// Lets creations for the rack begin again when the pause is over.
    fn resume_after(&self, pause: Option<Duration>) {
        let Some(pause) = pause else { return };
        let rack = self.rack.clone();
        self.rack.stock.runtime.spawn(async move {
            tokio::time::sleep(pause).await;
            rack.lock().resume();
            rack.stock.provide(&rack);
        });
    }
}

impl<K: Keep> Drop for Creation<K> {
    fn drop(&mut self) {
        if self.progress == Progress::UnderWay {
            self.settle_failed(&AcquireError::Panicked);
        }
    }
}
