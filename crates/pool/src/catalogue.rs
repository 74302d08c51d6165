//! All racks of a pool. A rack is listed as long as somebody holds a shelf of it or something is on it; then it is struck
//! off, and only its counts stay. A retired rack loses its key at once: who asks for the key gets a new one.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::group::Group;
use crate::keep::Keep;
use crate::rack::{Rack, RackId};
use crate::row::{End, Phase, Row};
use crate::shelf::ShelfRules;
use crate::stats::ShelfStats;
use crate::stock::Stock;

pub(crate) struct Catalogue<K: Keep> {
    phase: Phase,
    racks: HashMap<RackId, Entry<K>>,
    by_key: HashMap<K::Key, RackId>,
    /// Those that a rack is in; others are forgotten when there are twice as many as were left the last time.
    groups: HashMap<Arc<str>, Weak<Group<K>>>,
    groups_left: usize,
    ids: u64,
    /// What racks that are gone have counted.
    gone: ShelfStats,
}

struct Entry<K: Keep> {
    rack: Arc<Rack<K>>,
    /// Shelves that were asked for and not given back; clones of a shelf count as one.
    holds: usize,
}

impl<K: Keep> Catalogue<K> {
    pub(crate) fn new() -> Self {
        Self {
            phase: Phase::Open,
            racks: HashMap::new(),
            by_key: HashMap::new(),
            groups: HashMap::new(),
            groups_left: 0,
            ids: 0,
            gone: ShelfStats::default(),
        }
    }

    /// The rack of the key, held once more.
    pub(crate) fn hold(&mut self, key: K::Key, rules: ShelfRules, stock: &Arc<Stock<K>>) -> Arc<Rack<K>> {
        if let Some(entry) = self.by_key.get(&key).and_then(|id| self.racks.get_mut(id)) {
            entry.holds += 1;
            return entry.rack.clone();
        }
        self.ids += 1;
        let id = RackId(self.ids);
        let group = stock.per_group.and_then(|most| Some(self.group(stock.keep.group(&key)?, most)));
        let row = Row::new(rules, self.phase);
        let rack = Arc::new(Rack::new(id, key.clone(), stock.clone(), group, row));
        self.racks.insert(id, Entry { rack: rack.clone(), holds: 1 });
        self.by_key.insert(key, id);
        rack
    }

    fn group(&mut self, name: Arc<str>, most: usize) -> Arc<Group<K>> {
        if let Some(group) = self.groups.get(&name).and_then(Weak::upgrade) {
            return group;
        }
        if self.groups.len() > 2 * self.groups_left {
            self.groups.retain(|_, group| group.strong_count() > 0);
            self.groups_left = self.groups.len();
        }
        let group = Arc::new(Group::new(most));
        self.groups.insert(name, Arc::downgrade(&group));
        group
    }

    pub(crate) fn let_go(&mut self, rack: &Rack<K>) {
        if let Some(entry) = self.racks.get_mut(&rack.id) {
            entry.holds -= 1;
        }
        self.strike_off(rack);
    }

    /// Forgets the rack if nobody holds it and nothing is on it.
    pub(crate) fn strike_off(&mut self, rack: &Rack<K>) {
        if self.racks.get(&rack.id).is_none_or(|entry| entry.holds > 0) {
            return;
        }
        let row = rack.lock();
        if !row.is_empty() {
            return;
        }
        self.gone += row.stats();
        drop(row);
        self.unname(rack);
        self.racks.remove(&rack.id);
    }

    /// The key no longer leads to this rack.
    pub(crate) fn unname(&mut self, rack: &Rack<K>) {
        if self.by_key.get(&rack.key) == Some(&rack.id) {
            self.by_key.remove(&rack.key);
        }
    }

    /// From now on racks are closed from the start.
    pub(crate) fn close(&mut self) {
        self.phase = Phase::Over(End::Closed);
    }

    pub(crate) fn racks(&self) -> impl Iterator<Item = &Arc<Rack<K>>> {
        self.racks.values().map(|entry| &entry.rack)
    }

    /// The sum over all racks that ever were.
    pub(crate) fn stats(&self) -> ShelfStats {
        let mut sum = self.gone;
        for rack in self.racks() {
            sum += rack.lock().stats();
        }
        sum
    }
}
