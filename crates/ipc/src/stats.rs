//! The counters of a cell. All but the gauges only grow; control adds the counters of cells that are gone to those of the
//! live ones.

use std::collections::{BTreeMap, HashMap};

use hearth_core::{AppName, Owner, VersionName};
use serde::{Deserialize, Serialize};

use crate::histogram::HistogramCounts;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellStats {
    pub apps: Vec<AppStats>,
    pub pool: CellPoolStats,
    /// Gauge.
    pub connections: u64,
    pub connections_accepted: u64,
    /// Connections that were closed at once because their client had reached its limit.
    #[serde(default)]
    pub connections_refused: u64,
    /// Idle connections that were closed to make room for others.
    #[serde(default)]
    pub connections_evicted: u64,
    pub requests: u64,
    /// Requests that were rejected before they reached an app.
    pub rejected: u64,
    /// Gauge: time to the response head of the last hundred requests, in microseconds.
    pub recent: Vec<u32>,
    /// Gauge: resident bytes of the process.
    pub resident_memory: Option<u64>,
    /// Gauge: the owners whose isolates hold the most memory, the largest first.
    pub holders: Vec<MemoryHolder>,
}

/// Counted memory of all isolates of an owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryHolder {
    pub owner: Owner,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppStats {
    pub app: AppName,
    pub version: VersionName,
    /// By status code.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests that the app did not answer, by error code.
    pub failures: BTreeMap<String, u64>,
    /// Gauge.
    pub in_flight: u64,
    /// Until the response head.
    pub latency: HistogramCounts,
    pub queue_wait: HistogramCounts,
    pub cold_start: HistogramCounts,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellPoolStats {
    pub hits: u64,
    pub misses: u64,
    pub evictions: u64,
    pub workers_created: u64,
    pub workers_destroyed: u64,
    pub workers_failed: u64,
    pub isolates_created: u64,
    pub isolates_destroyed: u64,
    /// Gauges.
    pub workers: u64,
    pub running: u64,
    pub queued: u64,
    pub spares: u64,
    pub heaps: u64,
    pub buffers: u64,
}

// === impl CellStats ===

impl CellStats {
    /// Adds the counters and gauges of another cell.
    pub fn add(&mut self, other: &CellStats) {
        let key = |app: &AppStats| (app.app.clone(), app.version.clone());
        let places: HashMap<_, usize> = self.apps.iter().enumerate().map(|(at, app)| (key(app), at)).collect();
        for theirs in &other.apps {
            match places.get(&key(theirs)) {
                Some(at) => self.apps[*at].add(theirs),
                None => self.apps.push(theirs.clone()),
            }
        }
        let (mine, theirs) = (&mut self.pool, &other.pool);
        mine.hits += theirs.hits;
        mine.misses += theirs.misses;
        mine.evictions += theirs.evictions;
        mine.workers_created += theirs.workers_created;
        mine.workers_destroyed += theirs.workers_destroyed;
        mine.workers_failed += theirs.workers_failed;
        mine.isolates_created += theirs.isolates_created;
        mine.isolates_destroyed += theirs.isolates_destroyed;
        mine.workers += theirs.workers;
        mine.running += theirs.running;
        mine.queued += theirs.queued;
        mine.spares += theirs.spares;
        mine.heaps += theirs.heaps;
        mine.buffers += theirs.buffers;
        self.connections += other.connections;
        self.connections_accepted += other.connections_accepted;
        self.connections_refused += other.connections_refused;
        self.connections_evicted += other.connections_evicted;
        self.requests += other.requests;
        self.rejected += other.rejected;
        self.recent.extend_from_slice(&other.recent);
        self.holders.extend_from_slice(&other.holders);
        self.resident_memory = match (self.resident_memory, other.resident_memory) {
            (Some(mine), Some(theirs)) => Some(mine + theirs),
            (mine, theirs) => mine.or(theirs),
        };
    }

    /// The counters after the cell has ended: gauges are zero, and all workers and isolates count as destroyed.
    pub fn retired(mut self) -> Self {
        for app in &mut self.apps {
            app.in_flight = 0;
        }
        self.pool.workers_destroyed = self.pool.workers_created;
        self.pool.isolates_destroyed = self.pool.isolates_created;
        self.pool.workers = 0;
        self.pool.running = 0;
        self.pool.queued = 0;
        self.pool.spares = 0;
        self.pool.heaps = 0;
        self.pool.buffers = 0;
        self.connections = 0;
        self.recent.clear();
        self.holders.clear();
        self.resident_memory = None;
        self
    }
}

// === impl AppStats ===

impl AppStats {
    fn add(&mut self, other: &AppStats) {
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        for (code, count) in &other.failures {
            *self.failures.entry(code.clone()).or_default() += count;
        }
        self.in_flight += other.in_flight;
        self.latency.add(&other.latency);
        self.queue_wait.add(&other.queue_wait);
        self.cold_start.add(&other.cold_start);
    }

    pub fn requests(&self) -> u64 {
        self.latency.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_outlive_a_cell_and_gauges_do_not() {
        let app = AppStats {
            app: AppName::new("a"),
            version: VersionName::new("1.0.0"),
            statuses: BTreeMap::from([(200, 3)]),
            failures: BTreeMap::new(),
            in_flight: 2,
            latency: HistogramCounts { counts: vec![3], microseconds: 90 },
            queue_wait: HistogramCounts::default(),
            cold_start: HistogramCounts::default(),
        };
        let pool = CellPoolStats { isolates_created: 5, isolates_destroyed: 1, workers: 4, ..CellPoolStats::default() };
        let stats = CellStats { apps: vec![app], pool, requests: 3, connections: 2, ..CellStats::default() };
        let mut sum = stats.clone().retired();
        sum.add(&stats);
        assert_eq!((sum.apps[0].statuses[&200], sum.apps[0].in_flight, sum.requests, sum.connections), (6, 2, 6, 2));
        let live = sum.pool.isolates_created - sum.pool.isolates_destroyed;
        assert_eq!((live, sum.pool.workers), (4, 4), "the retired cell holds nothing");
    }
}
