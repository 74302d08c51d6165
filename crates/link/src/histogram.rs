//! Durations counted by size: bounds that are the same for all, so that histograms of many apps and cells can be added up.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Upper bounds in microseconds; what is longer counts beyond the last. Prometheus knows them as seconds.
pub const BOUNDS: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000,
];

/// Counts that threads add to.
#[derive(Debug, Default)]
pub struct Histogram {
    counts: [AtomicU64; BOUNDS.len() + 1],
    microseconds: AtomicU64,
}

/// What was counted so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// One for each bound, and one for what is longer. Not cumulative.
    pub counts: Vec<u64>,
    pub microseconds: u64,
}

// === impl Histogram ===

impl Histogram {
    pub fn note(&self, time: Duration) {
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let at = BOUNDS.partition_point(|bound| *bound < microseconds);
        self.counts[at].fetch_add(1, Ordering::Relaxed);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
    }

    pub fn counted(&self) -> Counted {
        Counted {
            counts: self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            microseconds: self.microseconds.load(Ordering::Relaxed),
        }
    }
}

// === impl Counted ===

impl Counted {
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub fn add(&mut self, other: &Counted) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.microseconds += other.microseconds;
    }

    /// The time that this part of all stayed below, as near as the bounds tell; `None` where nothing was counted.
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let wanted = (self.count() as f64 * part).ceil() as u64;
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted && seen > 0
        })?;
        Some(Duration::from_micros(BOUNDS.get(at).copied().unwrap_or(BOUNDS[BOUNDS.len() - 1])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_by_size_and_added_up() {
        let histogram = Histogram::default();
        for microseconds in [1, 100, 101, 999_999, 60_000_000] {
            histogram.note(Duration::from_micros(microseconds));
        }
        let mut counted = histogram.counted();
        assert_eq!((counted.counts[0], counted.counts[1], counted.counts[12], counted.counts[16]), (2, 1, 1, 1));
        assert_eq!(counted.microseconds, 61_000_201);
        counted.add(&histogram.counted());
        assert_eq!(counted.count(), 10);
        assert_eq!(counted.quantile(0.5), Some(Duration::from_micros(250)));
        assert_eq!(Counted::default().quantile(0.5), None);
    }
}
