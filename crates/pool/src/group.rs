//! What the keys of one group share: a bound on how many things they have together, and a line for those of its racks that
//! have to wait for it. A rack in the group's line holds up no rack of another group, and a place is made by evicting the
//! group's own least recently used idle thing.
//!
//! Everything here is changed under the room's lock only; `hungry` is also read without it, by leases that come back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::keep::Keep;
use crate::rack::Rack;

pub(crate) struct Group<K: Keep> {
    most: usize,
    /// Things that are there or being made, but for those whose place was given to another already.
    held: AtomicUsize,
    /// Racks in the line.
    hungry: AtomicUsize,
    line: Mutex<VecDeque<Arc<Rack<K>>>>,
}

impl<K: Keep> Group<K> {
    pub(crate) fn new(most: usize) -> Self {
        // With no place at all the group's requests would wait for ever.
        let most = most.max(1);
        Self { most, held: AtomicUsize::new(0), hungry: AtomicUsize::new(0), line: Mutex::default() }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.held.load(Ordering::Relaxed) >= self.most
    }

    pub(crate) fn take(&self) {
        self.held.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn give_back(&self) {
        let before = self.held.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "a place of a group was given back twice");
    }

    /// Whether a rack waits for a place in the group.
    pub(crate) fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Acquire) > 0
    }

    /// A rack is about to wait. Set before the group's rows are searched for something to evict: a thing that becomes idle after
    /// its row was searched is given back by a lease that sees it.
    pub(crate) fn expect(&self) {
        self.hungry.store(self.lock().len() + 1, Ordering::Release);
    }

    pub(crate) fn push(&self, rack: Arc<Rack<K>>) {
        let mut line = self.lock();
        line.push_back(rack);
        self.hungry.store(line.len(), Ordering::Release);
    }

    /// The first rack in line, which stays there.
    pub(crate) fn first(&self) -> Option<Arc<Rack<K>>> {
        self.lock().front().cloned()
    }

    /// Takes the first rack out of the line.
    pub(crate) fn pop(&self) {
        let mut line = self.lock();
        let popped = line.pop_front();
        self.hungry.store(line.len(), Ordering::Release);
        drop(line);
        // The last handle of a rack is not dropped under the line's lock.
        drop(popped);
    }

    /// No rack waits but those in line.
    pub(crate) fn settle(&self) {
        self.hungry.store(self.lock().len(), Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Rack<K>>>> {
        // Nothing that can panic runs under this lock.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
