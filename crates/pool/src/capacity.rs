//! How much the whole pool may hold, which buckets wait for capacity, and which item is evicted when there is none.
//!
//! The eviction list has every slot once, under a time at or before its last use. Hits do not touch it: the time is corrected
//! when the slot comes up for eviction. So a hit costs nothing here, and the first slot whose time is correct is the least
//! recently used one. A slot in use gets the current time: when it is idle again, it cannot have been used before that.
//! Each eviction passes each slot at most twice, and slots that were passed are not in the way of the next eviction.
//!
//! Invariants: `created = live + destroyed`; `live - evicted + creating <= limits.max_items`, and the same for each group;
//! `weight` is the sum of what the slots weigh, as last read, and of what is reserved for creations.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::time::Instant;

use crate::bucket::{Bucket, Eviction};
use crate::deferred::{Removal, RemovalRecord};
use crate::group::Group;
use crate::manager::Manager;
use crate::pool::PoolLimits;
use crate::slot::{Slot, SlotId};
use crate::stats::{DestroyCounts, PoolStats};

pub(crate) struct Capacity<M: Manager> {
    limits: PoolLimits,
    live: usize,
    /// Live items that are evicted but not destroyed yet: their slots count for other items already.
    evicted: usize,
    creating: usize,
    weight: u64,
    created: u64,
    destroyed: DestroyCounts,
    last_id: u64,
    /// Buckets that wait for capacity, first come first served.
    pub(crate) waiting: VecDeque<Arc<Bucket<M>>>,
    lru: LruList<M>,
}

type LruList<M> = BTreeMap<(Instant, SlotId), Arc<Bucket<M>>>;

impl<M: Manager> Capacity<M> {
    pub(crate) fn new(limits: PoolLimits) -> Self {
        Self {
            limits,
            live: 0,
            evicted: 0,
            creating: 0,
            weight: 0,
            created: 0,
            destroyed: DestroyCounts::default(),
            last_id: 0,
            waiting: VecDeque::new(),
            lru: BTreeMap::new(),
        }
    }

    /// Whether one more item fits. An empty pool takes one of any weight: otherwise no request would ever be served.
    pub(crate) fn fits(&self, weight: u64) -> bool {
        let held = self.live - self.evicted + self.creating;
        held < self.limits.max_items && (held == 0 || self.weight.saturating_add(weight) <= self.limits.max_weight)
    }

    pub(crate) fn is_over_weight(&self) -> bool {
        self.weight > self.limits.max_weight
    }

    pub(crate) fn reserve(&mut self, weight: u64, bucket: &Bucket<M>) -> SlotId {
        bucket.take_group_slot();
        self.creating += 1;
        self.weight += weight;
        self.last_id += 1;
        SlotId(self.last_id)
    }

    /// The creation for which `weight` was reserved has ended.
    pub(crate) fn release_reservation(&mut self, weight: u64, bucket: &Bucket<M>) {
        bucket.release_group_slot();
        self.creating -= 1;
        self.weight -= weight;
    }

    /// An item was made. What was reserved for its creation is released separately.
    pub(crate) fn add(&mut self, slot: &Slot<M::Item>, bucket: &Arc<Bucket<M>>) {
        bucket.take_group_slot();
        self.live += 1;
        self.created += 1;
        self.weight += slot.weight;
        self.lru.insert((slot.lru_time, slot.id), bucket.clone());
    }

    /// The item is destroyed.
    pub(crate) fn remove(&mut self, record: RemovalRecord, bucket: &Bucket<M>) {
        self.live -= 1;
        self.destroyed.count(record.why);
        if record.slot_reassigned {
            self.evicted -= 1;
        } else {
            bucket.release_group_slot();
            self.weight -= record.weight;
            self.lru.remove(&(record.lru_time, record.slot));
        }
    }

    pub(crate) fn reweigh(&mut self, (before, after): (u64, u64)) {
        self.weight = self.weight - before + after;
    }

    /// Removes the least recently used idle item from its bucket; its slot is free from now on.
    pub(crate) fn evict(&mut self) -> Option<Removal<M>> {
        let removal = evict_oldest(&mut self.lru);
        self.count_eviction(removal)
    }

    /// The same among the items of one group.
    pub(crate) fn evict_from_group(&mut self, group: &Arc<Group<M>>) -> Option<Removal<M>> {
        let is_own = |bucket: &Bucket<M>| bucket.group.as_ref().is_some_and(|other| Arc::ptr_eq(other, group));
        let own: Vec<_> = self.lru.iter().filter(|(_, bucket)| is_own(bucket)).map(|(entry, _)| *entry).collect();
        let mut own: LruList<M> = own.into_iter().filter_map(|entry| self.lru.remove_entry(&entry)).collect();
        let removal = evict_oldest(&mut own);
        self.lru.append(&mut own);
        self.count_eviction(removal)
    }

    fn count_eviction(&mut self, evicted: Option<Removal<M>>) -> Option<Removal<M>> {
        if let Some(removal) = &evicted {
            removal.bucket.release_group_slot();
            self.evicted += 1;
            self.weight -= removal.record.weight;
        }
        evicted
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.live == 0 && self.creating == 0
    }

    /// What is counted here; the rest is counted by the buckets.
    pub(crate) fn stats(&self) -> PoolStats {
        PoolStats {
            total: self.limits.max_items,
            cached: self.live,
            creating: self.creating,
            weight: self.weight,
            created: self.created,
            destroyed: self.destroyed,
            ..PoolStats::default()
        }
    }
}

/// Removes the first idle item of the list from its bucket.
fn evict_oldest<M: Manager>(lru: &mut LruList<M>) -> Option<Removal<M>> {
    let now = Instant::now();
    let mut in_use = Vec::new();
    let mut evicted = None;
    while let Some(((lru_time, id), bucket)) = lru.pop_first() {
        let eviction = bucket.lock().evict(id, lru_time, now, &bucket);
        match eviction {
            Eviction::Evicted(removal) => {
                evicted = Some(removal);
                break;
            }
            Eviction::UsedSince(used) => {
                lru.insert((used, id), bucket);
            }
            // Inserted again only after the loop, or it would come up again in this loop.
            Eviction::InUse => in_use.push(((now, id), bucket)),
            Eviction::NotFound => {}
        }
    }
    lru.extend(in_use);
    evicted
}
