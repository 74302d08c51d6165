//! A rate limit per key: token buckets for many clients, in bounded memory.
//!
//! A bucket is one number: when it will be full again (the virtual scheduling form of the leaky bucket). `100/1m` lets
//! a hundred through at once, and then one more every 0.6 s.
//! Buckets are kept in two generations. When the young one is full, the old one is dropped and the young one becomes the old; a key
//! that is used moves to the young one. So memory is bounded, every operation is O(1), and a key is forgotten only if it was not used
//! while half the table was filled by others: a client that sends without pause is never forgotten.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Several, so that threads seldom contend for a lock.
const SHARDS: usize = 16;

/// So many requests per so much time; all of them at once, if need be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub requests: u32,
    pub per: Duration,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateDecision {
    Admitted,
    /// The same request would be let through after this time.
    Limited {
        retry_after: Duration,
    },
}

/// Buckets by key: a client's address, or an app and an address.
#[derive(Debug)]
pub struct KeyedRateLimiter<K> {
    shards: Box<[Mutex<Shard<K>>]>,
    hasher: RandomState,
    start: Instant,
    /// Keys in one generation of a shard.
    generation: usize,
}

/// When each bucket is full again, in nanoseconds since the start.
#[derive(Debug)]
struct Shard<K> {
    young: HashMap<K, u64>,
    old: HashMap<K, u64>,
}

impl<K: Hash + Eq> KeyedRateLimiter<K> {
    /// Remembers at most about `capacity` keys.
    pub fn new(capacity: usize) -> Self {
        let shard = || Mutex::new(Shard { young: HashMap::new(), old: HashMap::new() });
        Self {
            shards: (0..SHARDS).map(|_| shard()).collect(),
            hasher: RandomState::new(),
            start: Instant::now(),
            generation: (capacity / SHARDS / 2).max(1),
        }
    }

    /// Takes a token from the key's bucket, if there is one. A rate of no requests admits none; one without a time
    /// admits all.
    pub fn admit(&self, key: K, rate: Rate, now: Instant) -> RateDecision {
        let per = rate.per.as_nanos().min(u128::from(u64::MAX / 4)) as u64;
        if rate.requests == 0 {
            return RateDecision::Limited { retry_after: rate.per };
        }
        let token = per / u64::from(rate.requests);
        let now = now.saturating_duration_since(self.start).as_nanos() as u64;
        let at = self.hasher.hash_one(&key) as usize % SHARDS;
        let mut shard = self.shards[at].lock().unwrap_or_else(PoisonError::into_inner);
        let full = shard.recall(&key).unwrap_or(0).max(now) + token;
        // Rejected requests refresh the key, too.
        let (kept, verdict) = match full.checked_sub(now + per) {
            None | Some(0) => (full, RateDecision::Admitted),
            Some(wait) => (full - token, RateDecision::Limited { retry_after: Duration::from_nanos(wait) }),
        };
        shard.remember(key, kept, self.generation);
        verdict
    }

    /// Keys that are remembered.
    pub fn len(&self) -> usize {
        let count = |shard: &Mutex<Shard<K>>| {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.young.len() + shard.old.len()
        };
        self.shards.iter().map(count).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Hash + Eq> Shard<K> {
    fn recall(&mut self, key: &K) -> Option<u64> {
        self.young.get(key).copied().or_else(|| self.old.remove(key))
    }

    fn remember(&mut self, key: K, full: u64, generation: usize) {
        if self.young.len() >= generation && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, full);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { requests: 10, per: Duration::from_secs(60) };

    fn admitted(rates: &KeyedRateLimiter<u32>, key: u32, rate: Rate, now: Instant) -> usize {
        (0..100).filter(|_| rates.admit(key, rate, now) == RateDecision::Admitted).count()
    }

    #[test]
    fn a_burst_is_admitted_then_one_at_a_time() {
        let (rates, start) = (KeyedRateLimiter::new(1000), Instant::now());
        assert_eq!(admitted(&rates, 1, RATE, start), 10);
        assert_eq!(admitted(&rates, 2, RATE, start), 10, "others are not concerned");
        let RateDecision::Limited { retry_after } = rates.admit(1, RATE, start) else { panic!("the bucket is empty") };
        assert_eq!(retry_after, Duration::from_secs(6));
        assert_eq!(
            rates.admit(1, RATE, start + retry_after - Duration::from_nanos(1)),
            RateDecision::Limited { retry_after: Duration::from_nanos(1) }
        );
        assert_eq!(admitted(&rates, 1, RATE, start + retry_after), 1);
        assert_eq!(admitted(&rates, 1, RATE, start + Duration::from_secs(36)), 5);
        assert_eq!(admitted(&rates, 1, RATE, start + Duration::from_secs(1000)), 10, "no more than a full bucket");
    }

    #[test]
    fn extreme_rates_are_handled() {
        let (rates, start) = (KeyedRateLimiter::new(1000), Instant::now());
        assert_eq!(admitted(&rates, 1, Rate { requests: 0, per: Duration::from_secs(1) }, start), 0);
        assert_eq!(admitted(&rates, 2, Rate { requests: 1, per: Duration::ZERO }, start), 100);
        assert_eq!(admitted(&rates, 3, Rate { requests: 1, per: Duration::MAX }, start), 1);
        assert_eq!(admitted(&rates, 4, Rate { requests: u32::MAX, per: Duration::from_secs(1) }, start), 100);
    }

    #[test]
    fn memory_is_bounded_and_active_keys_are_remembered() {
        let (rates, start) = (KeyedRateLimiter::new(3200), Instant::now());
        assert_eq!(admitted(&rates, u32::MAX, RATE, start), 10);
        for key in 0..100_000 {
            rates.admit(key, RATE, start);
            assert_ne!(rates.admit(u32::MAX, RATE, start), RateDecision::Admitted);
        }
        assert!((1600..=3200).contains(&rates.len()), "{}", rates.len());
        assert_eq!(admitted(&rates, 0, RATE, start), 10, "a forgotten key starts with a full bucket");
    }
}
