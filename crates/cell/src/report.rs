//! The statistics of a cell for the operator (`GET /admin/pool`). The first four fields are the summary; the others are its parts.

use std::collections::BTreeMap;

use hearth_pool::{GateStats, KeyStats, Pool, RejectionCounts, SpareStats};
use hearth_runtime::memory_totals;
use serde::Serialize;

use crate::admission::OwnerAdmission;
use crate::app_pools::AppPoolsConfig;
use crate::modes::shared::IsolateManager;
use crate::modes::tally::{EphemeralTallies, TallyStats};
use crate::spares::SpareIsolates;
use crate::worker_manager::{ThreadPlacement, WorkerManager};

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Workers that may be kept pooled, those that are, and how many more can be.
    pub total: usize,
    pub cached: usize,
    pub capacity: usize,
    /// The share of requests that found their worker pooled; 0 before the first.
    pub hit_rate: f64,
    pub hits: u64,
    pub misses: u64,
    /// Isolates of this process: created - destroyed = live.
    pub created: u64,
    pub destroyed: u64,
    pub live: u64,
    pub evictions: u64,
    /// Workers of all versions, removed ones included; `modes` and `owners` count those of current versions.
    pub workers: WorkersReport,
    pub running: usize,
    pub queued: usize,
    pub spares: Spares,
    pub memory: Memory,
    pub modes: Modes,
    pub owners: BTreeMap<String, OwnerReport>,
    pub stuck: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct WorkersReport {
    pub created: u64,
    pub destroyed: u64,
    pub failed: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Spares {
    pub wanted: usize,
    pub ready: usize,
    pub booting: usize,
    pub taken: u64,
    pub missed: u64,
    pub failed: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Memory {
    pub heaps: u64,
    pub heaps_budget: u64,
    pub buffers: u64,
    pub budget: u64,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Modes {
    pub pooled: ModeReport,
    pub pinned: ModeReport,
    pub oneshot: ModeReport,
    pub shared: ModeReport,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ModeReport {
    pub cached: usize,
    pub leased: usize,
    pub waiting: usize,
    pub hits: u64,
    pub misses: u64,
    pub created: u64,
    pub destroyed: u64,
    pub failed: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct OwnerReport {
    pub running: usize,
    pub queued: usize,
    pub entered: u64,
    pub refused: RefusedReport,
    pub cached: usize,
    pub hits: u64,
    pub misses: u64,
    pub created: u64,
    pub failed: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RefusedReport {
    pub full: u64,
    /// By the limit on all owners together (`--max-queued`).
    pub overloaded: u64,
    pub late: u64,
    pub draining: u64,
    pub stuck: u64,
}

impl Report {
    pub(crate) fn new(
        config: &AppPoolsConfig,
        (pool, isolates): (&Pool<WorkerManager>, &Pool<IsolateManager>),
        tallies: &EphemeralTallies,
        spares: &SpareIsolates,
        admission: &OwnerAdmission,
    ) -> Self {
        let (pooled, shared_isolates) = (pool.stats(), isolates.stats());
        let totals = memory_totals();
        let (gates, ephemeral_gates) = admission.stats();
        let mut by_owner: BTreeMap<String, OwnerReport> = BTreeMap::new();
        for (owner, gate, tallies) in admission.by_owner() {
            let report = by_owner.entry(owner.to_string()).or_default();
            report.add_gate(&gate);
            report.add_ephemeral(&tallies);
        }
        let (oneshot, shared) = (tallies.oneshot.stats(), tallies.shared.stats());
        let mut modes = Modes {
            oneshot: ModeReport::for_ephemeral(&oneshot),
            shared: ModeReport {
                cached: shared_isolates.cached,
                waiting: shared_isolates.waiting,
                ..ModeReport::for_ephemeral(&shared)
            },
            ..Modes::default()
        };
        for (version, key) in pool.key_stats() {
            by_owner.entry(version.owner().to_string()).or_default().add_key(&key);
            match version.placement() {
                ThreadPlacement::AnyThread(_) => modes.pooled.add_key(&key),
                ThreadPlacement::Pinned => modes.pinned.add_key(&key),
            }
        }
        let (hits, misses) = (pooled.hits, pooled.misses + oneshot.created + shared.created);
        Self {
            total: pooled.total,
            cached: pooled.cached,
            capacity: pooled.capacity(),
            hit_rate: rate(hits, misses),
            hits,
            misses,
            created: totals.created,
            destroyed: totals.created.saturating_sub(totals.isolates),
            live: totals.isolates,
            evictions: pooled.destroyed.evicted + shared_isolates.destroyed.evicted,
            workers: WorkersReport {
                created: pooled.created + oneshot.created + shared.created,
                destroyed: pooled.destroyed.all() + oneshot.destroyed + shared.destroyed,
                failed: pooled.failed + oneshot.failed + shared.failed,
            },
            running: gates.running + ephemeral_gates.running,
            queued: gates.queued + ephemeral_gates.queued,
            spares: Spares::new(config.spares, &spares.pool().stats()),
            memory: Memory {
                heaps: totals.heaps.bytes(),
                heaps_budget: config.budget.heaps.bytes(),
                buffers: totals.buffers.bytes(),
                budget: config.budget.total.bytes(),
            },
            modes,
            owners: by_owner,
            stuck: admission.stuck().iter().map(ToString::to_string).collect(),
        }
    }
}

fn rate(hits: u64, misses: u64) -> f64 {
    match hits + misses {
        0 => 0.0,
        all => (hits as f64 / all as f64 * 10_000.0).round() / 10_000.0,
    }
}

// === impl Spares ===

impl Spares {
    fn new(wanted: usize, stats: &SpareStats) -> Self {
        let SpareStats { ready, creating, taken, missed, failed, .. } = *stats;
        Self { wanted, ready, booting: creating, taken, missed, failed }
    }
}

// === impl ModeReport ===

impl ModeReport {
    fn for_ephemeral(tally: &TallyStats) -> Self {
        Self {
            leased: tally.live(),
            misses: tally.created,
            created: tally.created,
            destroyed: tally.destroyed,
            failed: tally.failed,
            ..Self::default()
        }
    }

    fn add_key(&mut self, key: &KeyStats) {
        self.cached += key.cached;
        self.leased += key.leased;
        self.waiting += key.waiting;
        self.hits += key.hits;
        self.misses += key.misses;
        self.created += key.created;
        self.destroyed += key.removed;
        self.failed += key.failed;
    }
}

// === impl OwnerReport ===

impl OwnerReport {
    fn add_gate(&mut self, gate: &GateStats) {
        self.running += gate.running;
        self.queued += gate.queued;
        self.entered += gate.entered;
        let RejectionCounts { queue_full, overloaded, timed_out, draining, blocked } = gate.rejected;
        self.refused.full += queue_full;
        self.refused.overloaded += overloaded;
        self.refused.late += timed_out;
        self.refused.draining += draining;
        self.refused.stuck += blocked;
    }

    fn add_key(&mut self, key: &KeyStats) {
        self.cached += key.cached;
        self.hits += key.hits;
        self.misses += key.misses;
        self.created += key.created;
        self.failed += key.failed;
    }

    fn add_ephemeral(&mut self, tallies: &TallyStats) {
        self.misses += tallies.created;
        self.created += tallies.created;
        self.failed += tallies.failed;
    }
}
