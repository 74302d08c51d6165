//! The statistics of a cell, as the operator sees them (`GET /admin/pool`). The first four are the whole in short; the rest
//! says where they come from.

use std::collections::BTreeMap;

use hearth_pool::{FillerStats, GateStats, Pool, PoolStats, Refusals, ShelfStats};
use hearth_runtime::holdings;
use serde::Serialize;

use crate::cell::CellConfig;
use crate::keeper::{Home, Keeper};
use crate::modes::fresh::Oneshots;
use crate::modes::shared::IsolateKeeper;
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
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RefusedReport {
    pub full: u64,
    pub late: u64,
    pub draining: u64,
    pub stuck: u64,
}

impl Report {
    pub(crate) fn new(
        config: &CellConfig,
        pool: &Pool<Keeper>,
        isolates: &Pool<IsolateKeeper>,
        oneshots: &Oneshots,
        blanks: &Blanks,
        owners: &Owners,
    ) -> Self {
        let (warm, guests) = (pool.stats(), isolates.stats());
        let holdings = holdings();
        let (gates, fresh_gates) = owners.stats();
        let mut by_owner: BTreeMap<String, OwnerReport> = BTreeMap::new();
        for (owner, gate) in owners.by_owner() {
            by_owner.entry(owner.to_string()).or_default().add_gate(&gate);
        }
        let mut modes = Modes { shared: ModeReport::of_pool(&guests), ..Modes::default() };
        for (version, shelf) in pool.shelves() {
            by_owner.entry(version.owner().to_string()).or_default().add_shelf(&shelf);
            match version.home() {
                Home::Anywhere(_) => modes.pooled.add_shelf(&shelf),
                Home::Pinned => modes.pinned.add_shelf(&shelf),
            }
        }
        let single = oneshots.stats();
        let live = usize::try_from(single.created - single.destroyed).unwrap_or(usize::MAX);
        modes.oneshot = ModeReport {
            leased: live,
            created: single.created,
            destroyed: single.destroyed,
            misses: single.created,
            ..ModeReport::default()
        };
        let (hits, misses) = (warm.hits, warm.misses + single.created);
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
                created: warm.created + guests.created + single.created,
                destroyed: warm.destroyed.all() + guests.destroyed.all() + single.destroyed,
                failed: warm.failed + guests.failed,
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
        all => (hits as f64 / all as f64 * 100.0).round() / 100.0,
    }
}

// === impl Spares ===

impl Spares {
    fn new(wanted: usize, filler: &FillerStats) -> Self {
        let FillerStats { ready, booting, taken, missed, failed, .. } = *filler;
        Self { wanted, ready, booting, taken, missed, failed }
    }
}

// === impl ModeReport ===

impl ModeReport {
    fn of_pool(pool: &PoolStats) -> Self {
        Self {
            cached: pool.cached,
            leased: pool.leased,
            waiting: pool.waiting,
            hits: pool.hits,
            misses: pool.misses,
            created: pool.created,
            destroyed: pool.destroyed.all(),
            failed: pool.failed,
        }
    }

    fn add_shelf(&mut self, shelf: &ShelfStats) {
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
        let Refusals { full, late, draining, barred } = gate.refused;
        self.refused.full += full;
        self.refused.late += late;
        self.refused.draining += draining;
        self.refused.stuck += barred;
    }

    fn add_shelf(&mut self, shelf: &ShelfStats) {
        self.cached += shelf.cached;
        self.hits += shelf.hits;
        self.misses += shelf.misses;
        self.created += shelf.created;
    }
}
