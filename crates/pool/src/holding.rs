//! A thing of the pool as it stands now, for who wants to list them all.

use std::time::Duration;

use tokio::time::Instant;

use crate::keep::Keep;
use crate::slot::Slot;

pub struct Holding<K: Keep> {
    pub key: K::Key,
    pub thing: K::Thing,
    pub standing: Standing,
    pub age: Duration,
    /// Since its last lease came back; nothing while one is out.
    pub unused: Duration,
    pub leases: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Active,
    /// Nobody has used it for too long: the next sweep destroys it.
    Idle,
    /// It takes nothing new, and is destroyed when it has nothing to do.
    Leaving,
}

impl<K: Keep> Holding<K> {
    pub(crate) fn new(key: &K::Key, slot: &Slot<K::Thing>, now: Instant) -> Self {
        Self {
            key: key.clone(),
            thing: slot.thing.clone(),
            standing: slot.standing(),
            age: slot.age(now),
            unused: slot.unused_for(now),
            leases: slot.leases(),
        }
    }
}
