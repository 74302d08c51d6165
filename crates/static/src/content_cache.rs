//! A cache of the contents of small files and of pages with injections.
//!
//! Keys are file identities, which every request asks the kernel for, so entries are never stale:
//! an entry whose file is gone is not looked up again and is evicted eventually. A file that
//! changed just now is not cached, since its next change might not show. Eviction is in order of
//! insertion, with a second chance for entries that were used since.
//! Invariant: the total cost of all entries is at most the budget.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use hearth_core::ByteSize;

use crate::etag::{Etag, FileIdentity};

/// The approximate cost of an entry beside its content.
const OVERHEAD: u64 = 256;

#[derive(Debug)]
pub struct ContentCache {
    budget: u64,
    inner: Mutex<Inner>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub identity: FileIdentity,
    /// The base that was injected into the page; `None` for an unmodified file.
    pub base: Option<Box<str>>,
}

#[derive(Clone, Debug)]
pub struct Content {
    pub bytes: Bytes,
    pub etag: Etag,
}

#[derive(Debug, Default)]
struct Inner {
    entries: HashMap<Key, Entry>,
    /// Every key once, in order of eviction.
    queue: VecDeque<Key>,
    cost: u64,
}

#[derive(Debug)]
struct Entry {
    content: Content,
    /// Used since it was inserted or since it was last spared from eviction.
    used: bool,
}

// === impl ContentCache ===

impl ContentCache {
    pub fn new(budget: ByteSize) -> Self {
        Self { budget: budget.bytes(), inner: Mutex::default() }
    }

    pub fn get(&self, key: &Key) -> Option<Content> {
        let mut inner = self.lock();
        let entry = inner.entries.get_mut(key)?;
        entry.used = true;
        Some(entry.content.clone())
    }

    /// `content` was read at `now` or later.
    pub fn insert(&self, key: Key, content: &Content, now: SystemTime) {
        let cost = cost(&key, content);
        if cost > self.budget / 2 || !key.identity.is_settled(now) {
            return;
        }
        let mut inner = self.lock();
        if inner.entries.contains_key(&key) {
            return;
        }
        while inner.cost + cost > self.budget {
            inner.evict_one();
        }
        inner.cost += cost;
        inner.queue.push_back(key.clone());
        inner.entries.insert(key, Entry { content: content.clone(), used: false });
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // No code that can panic leaves the entries inconsistent.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cost(key: &Key, content: &Content) -> u64 {
    content.bytes.len() as u64 + key.base.as_ref().map_or(0, |base| 2 * base.len() as u64) + OVERHEAD
}

// === impl Inner ===

impl Inner {
    fn evict_one(&mut self) {
        while let Some(key) = self.queue.pop_front() {
            match self.entries.get_mut(&key) {
                Some(entry) if entry.used => {
                    entry.used = false;
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
        let identity = FileIdentity::from_stat(&rustix::fs::stat(folder.path()).unwrap());
        Key { identity, base: Some(base.into()) }
    }

    fn keys<const N: usize>() -> [Key; N] {
        let one = key("");
        std::array::from_fn(|at| Key { base: Some(at.to_string().into()), ..one.clone() })
    }

    fn content(length: usize) -> Content {
        Content { bytes: vec![7; length].into(), etag: Etag::from_content(b"") }
    }

    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(3_600)
    }

    #[test]
    fn used_entries_are_kept_longer() {
        let cache = ContentCache::new(ByteSize(3 * (1000 + OVERHEAD + 2)));
        let keys = keys::<4>();
        keys[..3].iter().for_each(|key| cache.insert(key.clone(), &content(1000), later()));
        assert!(cache.get(&keys[0]).is_some());
        cache.insert(keys[3].clone(), &content(1000), later());
        let kept = keys.each_ref().map(|key| cache.lock().entries.contains_key(key));
        assert_eq!(kept, [true, false, true, true]);
    }

    #[test]
    fn the_budget_holds() {
        let cache = ContentCache::new(ByteSize::kb(64));
        let keys = keys::<100>();
        for round in 0..3 {
            for (at, key) in keys.iter().enumerate() {
                cache.insert(key.clone(), &content(at * 400 + round), later());
                if at % 3 == 0 {
                    cache.get(key);
                }
                let inner = cache.lock();
                assert!(inner.cost <= cache.budget);
                assert_eq!(inner.cost, inner.entries.iter().map(|(key, entry)| cost(key, &entry.content)).sum::<u64>());
                assert_eq!(inner.queue.len(), inner.entries.len());
            }
        }
        cache.insert(key("big"), &content(40 << 10), later());
        assert!(cache.lock().entries.keys().all(|key| key.base.as_deref() != Some("big")));
    }

    #[test]
    fn unsettled_files_are_not_cached_and_a_budget_of_zero_caches_nothing() {
        let cache = ContentCache::new(ByteSize::kb(64));
        let before = SystemTime::now();
        let key = key("");
        cache.insert(key.clone(), &content(1), before);
        assert!(cache.get(&key).is_none());
        cache.insert(key.clone(), &content(1), later());
        assert_eq!(cache.get(&key).unwrap().bytes.len(), 1);
        let none = ContentCache::new(ByteSize(0));
        none.insert(key.clone(), &content(0), later());
        assert!(none.get(&key).is_none());
    }
}
