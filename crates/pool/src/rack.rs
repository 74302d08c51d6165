//! One key's part of the stock: the row of its slots behind a lock, and what is to be done when that lock is released.
//! Shelves, leases and creations all refer to a rack; it lives as long as one of them does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::creation::Creation;
use crate::group::Group;
use crate::keep::{Keep, Reason};
use crate::lease::Lease;
use crate::row::Row;
use crate::shelf::AcquireError;
use crate::slot::{Slot, SlotId};
use crate::stock::Stock;

/// What a caller that waited gets.
pub(crate) type Answer<K> = Result<Lease<K>, AcquireError<<K as Keep>::Error>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RackId(pub(crate) u64);

pub(crate) struct Rack<K: Keep> {
    pub(crate) id: RackId,
    pub(crate) key: K::Key,
    pub(crate) stock: Arc<Stock<K>>,
    /// Where things of a group are bounded, and the key is in one.
    pub(crate) group: Option<Arc<Group<K>>>,
    row: Mutex<Row<K>>,
}

/// A thing that has left its row and is to be destroyed.
pub(crate) struct Leaving<K: Keep> {
    pub(crate) thing: K::Thing,
    pub(crate) rack: Arc<Rack<K>>,
    pub(crate) notice: Notice,
}

/// What the room is told about a thing that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notice {
    pub(crate) slot: SlotId,
    pub(crate) why: Reason,
    pub(crate) place: Place,
    pub(crate) weighed: u64,
    pub(crate) listed: Instant,
}

/// Whose the place of a leaving thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Its own until it is destroyed.
    Held,
    /// Somebody else's already.
    Given,
}

/// What is to be done when all locks are released; `Stock::carry_out` does it. Mostly nothing, which costs nothing.
#[must_use = "somebody waits for this"]
pub(crate) struct Later<K: Keep> {
    work: Option<Box<Work<K>>>,
}

pub(crate) struct Work<K: Keep> {
    pub(crate) answers: Vec<(oneshot::Sender<Answer<K>>, Answer<K>)>,
    pub(crate) leavings: Vec<Leaving<K>>,
    /// Things that nobody has used for too long, to be told so.
    pub(crate) idlers: Vec<K::Thing>,
    /// Things that wait for their last lease, to be told so.
    pub(crate) lingerers: Vec<K::Thing>,
    pub(crate) creations: Vec<Creation<K>>,
}

// === impl Rack ===

impl<K: Keep> Rack<K> {
    pub(crate) fn new(
        id: RackId,
        key: K::Key,
        stock: Arc<Stock<K>>,
        group: Option<Arc<Group<K>>>,
        row: Row<K>,
    ) -> Self {
        Self { id, key, stock, group, row: Mutex::new(row) }
    }

    /// One thing more of its group is held.
    pub(crate) fn take_place(&self) {
        if let Some(group) = &self.group {
            group.take();
        }
    }

    /// One thing less of its group is held.
    pub(crate) fn give_back_place(&self) {
        if let Some(group) = &self.group {
            group.give_back();
        }
    }

    pub(crate) fn keep(&self) -> &K {
        &self.stock.keep
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Row<K>> {
        // Only a broken `Keep` can panic under this lock; between its calls the row is whole.
        self.row.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Keep> Drop for Rack<K> {
    fn drop(&mut self) {
        debug_assert!(std::thread::panicking() || self.lock().is_empty(), "everything has left a rack that nobody has");
    }
}

// === impl Leaving ===

impl<K: Keep> Leaving<K> {
    pub(crate) fn new(slot: Slot<K::Thing>, rack: Arc<Rack<K>>, why: Reason, place: Place) -> Self {
        let Slot { id, thing, weighed, listed, .. } = slot;
        Self { thing, rack, notice: Notice { slot: id, why, place, weighed, listed } }
    }
}

// === impl Later ===

impl<K: Keep> Later<K> {
    pub(crate) fn new() -> Self {
        Self { work: None }
    }

    /// Where something is put that is to be done.
    pub(crate) fn work(&mut self) -> &mut Work<K> {
        self.work.get_or_insert_with(|| {
            Box::new(Work {
                answers: Vec::new(),
                leavings: Vec::new(),
                idlers: Vec::new(),
                lingerers: Vec::new(),
                creations: Vec::new(),
            })
        })
    }

    pub(crate) fn into_work(self) -> Option<Box<Work<K>>> {
        self.work
    }
}
