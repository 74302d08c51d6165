//! Contents that were read before: small files, and pages that were injected into.
//!
//! They are kept by the file's identity, which every request asks the system for, so nothing is ever out of date: what
//! belongs to no file any more is not asked for again and falls out. A file that changed just now is not kept, since
//! its next change might not show. What is kept goes in the order it came, but what was used since gets a second turn.
//! Invariant: what all entries cost together is at most the budget.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use hearth_core::ByteSize;

use crate::identity::{Etag, Identity};

/// What an entry costs beside its content, about.
const OVERHEAD: u64 = 256;

#[derive(Debug)]
pub struct Memory {
    budget: u64,
    shelf: Mutex<Shelf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub identity: Identity,
    /// The base that a page was made for; none for a file as it is.
    pub base: Option<Box<str>>,
}

#[derive(Clone, Debug)]
pub struct Content {
    pub bytes: Bytes,
    pub etag: Etag,
}

#[derive(Debug, Default)]
struct Shelf {
    entries: HashMap<Key, Entry>,
    /// Every key once, the next to go first.
    queue: VecDeque<Key>,
    cost: u64,
}

#[derive(Debug)]
struct Entry {
    content: Content,
    turn: Turn,
}

#[derive(Debug, PartialEq, Eq)]
enum Turn {
    Used,
    Unused,
}

// === impl Memory ===

impl Memory {
    pub fn new(budget: ByteSize) -> Self {
        Self { budget: budget.bytes(), shelf: Mutex::default() }
    }

    pub fn get(&self, key: &Key) -> Option<Content> {
        let mut shelf = self.lock();
        let entry = shelf.entries.get_mut(key)?;
        entry.turn = Turn::Used;
        Some(entry.content.clone())
    }

    /// `content` was read not before `now`.
    pub fn keep(&self, key: Key, content: &Content, now: SystemTime) {
        let cost = cost(&key, content);
        if cost > self.budget / 2 || !key.identity.is_settled(now) {
            return;
        }
        let mut shelf = self.lock();
        if shelf.entries.contains_key(&key) {
            return;
        }
        while shelf.cost + cost > self.budget {
            shelf.drop_one();
        }
        shelf.cost += cost;
        shelf.queue.push_back(key.clone());
        shelf.entries.insert(key, Entry { content: content.clone(), turn: Turn::Unused });
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        // No code that can panic leaves the shelf half changed.
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cost(key: &Key, content: &Content) -> u64 {
    content.bytes.len() as u64 + key.base.as_ref().map_or(0, |base| 2 * base.len() as u64) + OVERHEAD
}

// === impl Shelf ===

impl Shelf {
    fn drop_one(&mut self) {
        while let Some(key) = self.queue.pop_front() {
            match self.entries.get_mut(&key) {
                Some(entry) if entry.turn == Turn::Used => {
                    entry.turn = Turn::Unused;
                    self.queue.push_back(key);
                }
                _ => {
                    if let Some(entry) = self.entries.remove(&key) {
                        self.cost -= cost(&key, &entry.content);
                    }
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key(base: &str) -> Key {
        let folder = tempfile::tempdir().unwrap();
        let identity = Identity::of(&rustix::fs::stat(folder.path()).unwrap());
        Key { identity, base: Some(base.into()) }
    }

    fn keys<const N: usize>() -> [Key; N] {
        let one = key("");
        std::array::from_fn(|at| Key { base: Some(at.to_string().into()), ..one.clone() })
    }

    fn content(length: usize) -> Content {
        Content { bytes: vec![7; length].into(), etag: Etag::of_content(b"") }
    }

    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(3_600)
    }

    #[test]
    fn what_was_used_stays_longer() {
        let memory = Memory::new(ByteSize(3 * (1000 + OVERHEAD + 2)));
        let keys = keys::<4>();
        keys[..3].iter().for_each(|key| memory.keep(key.clone(), &content(1000), later()));
        assert!(memory.get(&keys[0]).is_some());
        memory.keep(keys[3].clone(), &content(1000), later());
        let kept = keys.each_ref().map(|key| memory.lock().entries.contains_key(key));
        assert_eq!(kept, [true, false, true, true]);
    }

    #[test]
    fn the_budget_holds() {
        let memory = Memory::new(ByteSize::kb(64));
        let keys = keys::<100>();
        for round in 0..3 {
            for (at, key) in keys.iter().enumerate() {
                memory.keep(key.clone(), &content(at * 400 + round), later());
                if at % 3 == 0 {
                    memory.get(key);
                }
                let shelf = memory.lock();
                assert!(shelf.cost <= memory.budget);
                assert_eq!(shelf.cost, shelf.entries.iter().map(|(key, entry)| cost(key, &entry.content)).sum::<u64>());
                assert_eq!(shelf.queue.len(), shelf.entries.len());
            }
        }
        memory.keep(key("big"), &content(40 << 10), later());
        assert!(memory.lock().entries.keys().all(|key| key.base.as_deref() != Some("big")));
    }

    #[test]
    fn nothing_is_kept_of_what_may_still_change_or_without_a_budget() {
        let memory = Memory::new(ByteSize::kb(64));
        let before = SystemTime::now();
        let key = key("");
        memory.keep(key.clone(), &content(1), before);
        assert!(memory.get(&key).is_none());
        memory.keep(key.clone(), &content(1), later());
        assert_eq!(memory.get(&key).unwrap().bytes.len(), 1);
        let none = Memory::new(ByteSize(0));
        none.keep(key.clone(), &content(0), later());
        assert!(none.get(&key).is_none());
    }
}
