//! A description of an item of the pool, for lists of them all.

use std::time::Duration;

use tokio::time::Instant;

use crate::manager::Manager;
use crate::slot::Slot;

pub struct ItemInfo<M: Manager> {
    pub key: M::Key,
    pub item: M::Item,
    pub state: ItemState,
    pub age: Duration,
    /// Since its last lease was released; zero while one is out.
    pub unused_for: Duration,
    pub leases: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemState {
    Active,
    /// Unused for too long: the next sweep destroys it.
    Idle,
    /// It gets no new leases, and is destroyed when it has no work.
    Draining,
}

impl<M: Manager> ItemInfo<M> {
    pub(crate) fn new(key: &M::Key, slot: &Slot<M::Item>, now: Instant) -> Self {
        Self {
            key: key.clone(),
            item: slot.item.clone(),
            state: slot.item_state(),
            age: slot.age(now),
            unused_for: slot.unused_for(now),
            leases: slot.leases(),
        }
    }
}
