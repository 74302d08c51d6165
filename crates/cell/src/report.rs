//! The statistics of a cell, as the operator sees them (`GET /admin/pool`). The first four are the whole in short; the rest
//! says where they come from.

use std::collections::BTreeMap;

use hearth_pool::{GateStats, KeyStats, Pool, RejectionCounts, SpareStats};
use hearth_runtime::memory_totals;
use serde::Serialize;

use crate::cell::CellConfig;
use crate::keeper::{Home, Keeper};
use crate::modes::shared::IsolateKeeper;
use crate::modes::tally::{FreshTallies, TallyStats};
use crate::owners::Owners;
use crate::spares::Blanks;

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Workers that may be kept warm, those that are, and room for more.
    pub total: usize,
    pub cached: usize,
    pub capacity: usize,
    /// Part of the requests that found their worker warm; none were served yet: 0.
    pub hit_rate: f64,
    pub hits: u64,
    pub misses: u64,
    /// Isolates of this process: created - destroyed = live.
    pub created: u64,
    pub destroyed: u64,
    pub live: u64,
    pub evictions: u64,
    /// Workers of all versions there ever were: `modes` and `owners` know those of now.
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
    /// By the bound on all owners together.
    pub overloaded: u64,
    pub late: u64,
    pub draining: u64,
    pub stuck: u64,
}

impl Report {
    pub(crate) fn new(
        config: &CellConfig,
        (pool, isolates): (&Pool<Keeper>, &Pool<IsolateKeeper>),
        fresh: &FreshTallies,
        blanks: &Blanks,
        owners: &Owners,
    ) -> Self {
        let (warm, guests) = (pool.stats(), isolates.stats());
        let holdings = memory_totals();
        let (gates, fresh_gates) = owners.stats();
        let mut by_owner: BTreeMap<String, OwnerReport> = BTreeMap::new();
        for (owner, gate, fresh) in owners.by_owner() {
            let report = by_owner.entry(owner.to_string()).or_default();
            report.add_gate(&gate);
            report.add_fresh(&fresh);
        }
        let (oneshot, shared) = (fresh.oneshot.stats(), fresh.shared.stats());
        let mut modes = Modes {
            oneshot: ModeReport::of_fresh(&oneshot),
            shared: ModeReport { cached: guests.cached, waiting: guests.waiting, ..ModeReport::of_fresh(&shared) },
            ..Modes::default()
        };
        for (version, shelf) in pool.key_stats() {
            by_owner.entry(version.owner().to_string()).or_default().add_shelf(&shelf);
            match version.home() {
                Home::Anywhere(_) => modes.pooled.add_shelf(&shelf),
                Home::Pinned => modes.pinned.add_shelf(&shelf),
            }
        }
        let (hits, misses) = (warm.hits, warm.misses + oneshot.created + shared.created);
        Self {
            total: warm.total,
            cached: warm.cached,
            capacity: warm.capacity(),
            hit_rate: rate(hits, misses),
            hits,
            misses,
            created: holdings.created,
            destroyed: holdings.created.saturating_sub(holdings.isolates),
            live: holdings.isolates,
            evictions: warm.destroyed.evicted + guests.destroyed.evicted,
            workers: WorkersReport {
                created: warm.created + oneshot.created + shared.created,
                destroyed: warm.destroyed.all() + oneshot.destroyed + shared.destroyed,
                failed: warm.failed + oneshot.failed + shared.failed,
            },
            running: gates.running + fresh_gates.running,
            queued: gates.queued + fresh_gates.queued,
            spares: Spares::new(config.spares, &blanks.filler().stats()),
            memory: Memory {
                heaps: holdings.heaps.bytes(),
                heaps_budget: config.budget.heaps.bytes(),
                buffers: holdings.buffers.bytes(),
                budget: config.budget.total.bytes(),
            },
            modes,
            owners: by_owner,
            stuck: owners.stuck().iter().map(ToString::to_string).collect(),
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
    fn new(wanted: usize, filler: &SpareStats) -> Self {
        let SpareStats { ready, creating, taken, missed, failed, .. } = *filler;
        Self { wanted, ready, booting: creating, taken, missed, failed }
    }
}

// === impl ModeReport ===

impl ModeReport {
    fn of_fresh(tally: &TallyStats) -> Self {
        Self {
            leased: tally.live(),
            misses: tally.created,
            created: tally.created,
            destroyed: tally.destroyed,
            failed: tally.failed,
            ..Self::default()
        }
    }

    fn add_shelf(&mut self, shelf: &KeyStats) {
        self.cached += shelf.cached;
        self.leased += shelf.leased;
        self.waiting += shelf.waiting;
        self.hits += shelf.hits;
        self.misses += shelf.misses;
        self.created += shelf.created;
        self.destroyed += shelf.removed;
        self.failed += shelf.failed;
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

    fn add_shelf(&mut self, shelf: &KeyStats) {
        self.cached += shelf.cached;
        self.hits += shelf.hits;
        self.misses += shelf.misses;
        self.created += shelf.created;
        self.failed += shelf.failed;
    }

    fn add_fresh(&mut self, fresh: &TallyStats) {
        self.misses += fresh.created;
        self.created += fresh.created;
        self.failed += fresh.failed;
    }
}
