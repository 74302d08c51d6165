//! Histograms of durations. All have the same bounds, so those of many apps and cells can be added up.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Upper bounds in microseconds; an overflow bucket follows the last. Prometheus shows them in seconds.
pub const BOUNDS: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000,
];

/// A histogram that many threads record into.
#[derive(Debug, Default)]
pub struct Histogram {
    counts: [AtomicU64; BOUNDS.len() + 1],
    microseconds: AtomicU64,
}

/// The counts of a [`Histogram`] at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistogramCounts {
    /// One count for each bound and one for longer durations. Not cumulative.
    pub counts: Vec<u64>,
    pub microseconds: u64,
}

// === impl Histogram ===

impl Histogram {
    pub fn record(&self, time: Duration) {
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let at = BOUNDS.partition_point(|bound| *bound < microseconds);
        self.counts[at].fetch_add(1, Ordering::Relaxed);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
    }

    pub fn snapshot(&self) -> HistogramCounts {
        HistogramCounts {
            counts: self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            microseconds: self.microseconds.load(Ordering::Relaxed),
        }
    }
}

// === impl HistogramCounts ===

impl HistogramCounts {
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub fn add(&mut self, other: &HistogramCounts) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.microseconds += other.microseconds;
    }

    /// An upper bound of the quantile `part` (0 to 1), as precise as the buckets; `None` for an empty histogram.
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
    fn durations_are_counted_in_buckets_and_added_up() {
        let histogram = Histogram::default();
        for microseconds in [1, 100, 101, 999_999, 60_000_000] {
            histogram.record(Duration::from_micros(microseconds));
        }
        let mut counted = histogram.snapshot();
        assert_eq!((counted.counts[0], counted.counts[1], counted.counts[12], counted.counts[16]), (2, 1, 1, 1));
        assert_eq!(counted.microseconds, 61_000_201);
        counted.add(&histogram.snapshot());
        assert_eq!(counted.count(), 10);
        assert_eq!(counted.quantile(0.5), Some(Duration::from_micros(250)));
        assert_eq!(HistogramCounts::default().quantile(0.5), None);
    }
}
