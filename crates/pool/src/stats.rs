//! The numbers of gates, pools and fillers, as plain values. Each is read under the lock that guards what it counts, so
//! that what must add up does so in every single reading; the sums are said at the fields and checked by `adds_up`,
//! which the tests call after every step.

use std::ops::AddAssign;

use crate::keep::Reason;

/// Of one owner, or of all owners of a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateStats {
    /// Permits given. `entered = running + left`.
    pub entered: u64,
    /// Permits given back.
    pub left: u64,
    pub running: usize,
    /// In line now.
    pub queued: usize,
    /// Who had to line up, ever.
    pub waits: u64,
    /// Who lined up and went away by themselves before their turn came.
    pub abandoned: u64,
    pub refused: Refusals,
}

/// Who was refused, by why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    pub full: u64,
    pub overloaded: u64,
    pub late: u64,
    pub draining: u64,
    pub barred: u64,
}

/// Of a whole pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Things the pool may hold.
    pub total: usize,
    /// Things that exist now, leased or not.
    pub cached: usize,
    /// Things that are being made.
    pub cold: usize,
    /// What they hold together, as last weighed.
    pub weight: u64,
    /// Leases of things that were there before their caller came. `hits + misses` is the number of leases handed out.
    pub hits: u64,
    pub misses: u64,
    /// `created = cached + destroyed.all()`.
    pub created: u64,
    /// Creations that came to nothing.
    pub failed: u64,
    pub destroyed: Departures,
    /// Callers that wait for a thing.
    pub waiting: usize,
    /// Leases that are out.
    pub leased: usize,
}

/// Of one shelf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShelfStats {
    /// Things on the shelf, leased or not.
    pub cached: usize,
    pub cold: usize,
    pub hits: u64,
    pub misses: u64,
    /// `created = cached + removed`.
    pub created: u64,
    pub failed: u64,
    /// Things taken off the shelf for good.
    pub removed: u64,
    pub waiting: usize,
    pub leased: usize,
}

/// Things destroyed, by why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departures {
    pub evicted: u64,
    pub expired: u64,
    pub condemned: u64,
    pub gone: u64,
    pub retired: u64,
    pub closed: u64,
}

/// Of a filler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FillerStats {
    /// Boots that succeeded. `booted = ready + taken + discarded`.
    pub booted: u64,
    pub failed: u64,
    pub taken: u64,
    /// Who asked and found nothing.
    pub missed: u64,
    /// Spares there now.
    pub ready: usize,
    /// Boots under way.
    pub booting: usize,
    /// Spares thrown away: unfit, too old, too many, or left over at the end.
    pub discarded: u64,
}

// === impl GateStats ===

impl GateStats {
    pub fn adds_up(&self) -> bool {
        self.entered == self.running as u64 + self.left
    }
}

impl AddAssign for GateStats {
    fn add_assign(&mut self, other: Self) {
        self.entered += other.entered;
        self.left += other.left;
        self.running += other.running;
        self.queued += other.queued;
        self.waits += other.waits;
        self.abandoned += other.abandoned;
        self.refused.full += other.refused.full;
        self.refused.overloaded += other.refused.overloaded;
        self.refused.late += other.refused.late;
        self.refused.draining += other.refused.draining;
        self.refused.barred += other.refused.barred;
    }
}

// === impl Refusals ===

impl Refusals {
    pub fn all(&self) -> u64 {
        self.full + self.overloaded + self.late + self.draining + self.barred
    }
}

// === impl PoolStats ===

impl PoolStats {
    /// Things there is room for.
    pub fn capacity(&self) -> usize {
        self.total.saturating_sub(self.cached + self.cold)
    }

    /// The share of leases that found their thing warm; `None` before the first.
    pub fn hit_rate(&self) -> Option<f64> {
        share(self.hits, self.misses)
    }

    pub fn adds_up(&self) -> bool {
        self.created == self.cached as u64 + self.destroyed.all()
    }
}

// === impl ShelfStats ===

impl ShelfStats {
    pub fn hit_rate(&self) -> Option<f64> {
        share(self.hits, self.misses)
    }

    pub fn adds_up(&self) -> bool {
        self.created == self.cached as u64 + self.removed
    }
}

impl AddAssign for ShelfStats {
    fn add_assign(&mut self, other: Self) {
        self.cached += other.cached;
        self.cold += other.cold;
        self.hits += other.hits;
        self.misses += other.misses;
        self.created += other.created;
        self.failed += other.failed;
        self.removed += other.removed;
        self.waiting += other.waiting;
        self.leased += other.leased;
    }
}

// === impl Departures ===

impl Departures {
    pub fn all(&self) -> u64 {
        self.evicted + self.expired + self.condemned + self.gone + self.retired + self.closed
    }

    pub(crate) fn count(&mut self, why: Reason) {
        let number = match why {
            Reason::Evicted => &mut self.evicted,
            Reason::Expired => &mut self.expired,
            Reason::Condemned => &mut self.condemned,
            Reason::Gone => &mut self.gone,
            Reason::Retired => &mut self.retired,
            Reason::Closed => &mut self.closed,
        };
        *number += 1;
    }
}

// === impl FillerStats ===

impl FillerStats {
    /// The share of takes that found a spare; `None` before the first.
    pub fn hit_rate(&self) -> Option<f64> {
        share(self.taken, self.missed)
    }

    pub fn adds_up(&self) -> bool {
        self.booted == self.ready as u64 + self.taken + self.discarded
    }
}

fn share(hits: u64, misses: u64) -> Option<f64> {
    let all = hits + misses;
    (all > 0).then(|| hits as f64 / all as f64)
}
