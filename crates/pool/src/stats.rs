//! The numbers of gates, pools and spare pools, as plain values. Each is read under the lock that guards what it counts, so
//! that the sums hold in every single reading; they are documented at the fields and checked by `adds_up`, which the tests
//! call after every step.

use std::ops::AddAssign;

use crate::manager::DestroyReason;

/// Of one owner, or of all owners of a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateStats {
    /// Permits granted. `entered = running + left`.
    pub entered: u64,
    /// Permits released.
    pub left: u64,
    pub running: usize,
    /// In the queue now.
    pub queued: usize,
    /// Requests that were queued, in all.
    pub waits: u64,
    /// Requests that left the queue before their turn, because their futures were dropped.
    pub abandoned: u64,
    pub rejected: RejectionCounts,
}

/// Rejected requests, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RejectionCounts {
    pub queue_full: u64,
    pub overloaded: u64,
    pub timed_out: u64,
    pub draining: u64,
    pub blocked: u64,
}

/// Of a whole pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Items that the pool may hold.
    pub total: usize,
    /// Items that exist now, leased or not.
    pub cached: usize,
    /// Items that are being made.
    pub creating: usize,
    /// Bytes of all items, as last read, and what is reserved for creations.
    pub weight: u64,
    /// Leases of items that existed before their caller came. `hits + misses` is the number of leases handed out.
    pub hits: u64,
    pub misses: u64,
    /// `created = cached + destroyed.all()`.
    pub created: u64,
    /// Creations that failed.
    pub failed: u64,
    pub destroyed: DestroyCounts,
    /// Callers that wait for an item.
    pub waiting: usize,
    /// Leases that are out.
    pub leased: usize,
}

/// Of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyStats {
    /// Items of the key, leased or not.
    pub cached: usize,
    pub creating: usize,
    pub hits: u64,
    pub misses: u64,
    /// `created = cached + removed`.
    pub created: u64,
    pub failed: u64,
    /// Items that were removed for good.
    pub removed: u64,
    pub waiting: usize,
    pub leased: usize,
}

/// Destroyed items, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DestroyCounts {
    pub evicted: u64,
    pub expired: u64,
    pub condemned: u64,
    pub gone: u64,
    pub retired: u64,
    pub closed: u64,
}

/// Of a spare pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpareStats {
    /// Creations that succeeded. `created = ready + taken + discarded`.
    pub created: u64,
    pub failed: u64,
    pub taken: u64,
    /// Requests that found no spare.
    pub missed: u64,
    /// Spares that are ready now.
    pub ready: usize,
    /// Creations under way.
    pub creating: usize,
    /// Spares thrown away: unusable, too old, too many, or left over at the end.
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
        self.rejected.queue_full += other.rejected.queue_full;
        self.rejected.overloaded += other.rejected.overloaded;
        self.rejected.timed_out += other.rejected.timed_out;
        self.rejected.draining += other.rejected.draining;
        self.rejected.blocked += other.rejected.blocked;
    }
}

// === impl RejectionCounts ===

impl RejectionCounts {
    pub fn all(&self) -> u64 {
        self.queue_full + self.overloaded + self.timed_out + self.draining + self.blocked
    }
}

// === impl PoolStats ===

impl PoolStats {
    /// Items that can still be made.
    pub fn capacity(&self) -> usize {
        self.total.saturating_sub(self.cached + self.creating)
    }

    /// The share of leases that found their item warm; `None` before the first.
    pub fn hit_rate(&self) -> Option<f64> {
        share(self.hits, self.misses)
    }

    pub fn adds_up(&self) -> bool {
        self.created == self.cached as u64 + self.destroyed.all()
    }
}

// === impl KeyStats ===

impl KeyStats {
    pub fn hit_rate(&self) -> Option<f64> {
        share(self.hits, self.misses)
    }

    pub fn adds_up(&self) -> bool {
        self.created == self.cached as u64 + self.removed
    }
}

impl AddAssign for KeyStats {
    fn add_assign(&mut self, other: Self) {
        self.cached += other.cached;
        self.creating += other.creating;
        self.hits += other.hits;
        self.misses += other.misses;
        self.created += other.created;
        self.failed += other.failed;
        self.removed += other.removed;
        self.waiting += other.waiting;
        self.leased += other.leased;
    }
}

// === impl DestroyCounts ===

impl DestroyCounts {
    pub fn all(&self) -> u64 {
        self.evicted + self.expired + self.condemned + self.gone + self.retired + self.closed
    }

    pub(crate) fn count(&mut self, why: DestroyReason) {
        let number = match why {
            DestroyReason::Evicted => &mut self.evicted,
            DestroyReason::Expired => &mut self.expired,
            DestroyReason::Condemned => &mut self.condemned,
            DestroyReason::Gone => &mut self.gone,
            DestroyReason::Retired => &mut self.retired,
            DestroyReason::Closed => &mut self.closed,
        };
        *number += 1;
    }
}

// === impl SpareStats ===

impl SpareStats {
    /// The share of takes that found a spare; `None` before the first.
    pub fn hit_rate(&self) -> Option<f64> {
        share(self.taken, self.missed)
    }

    pub fn adds_up(&self) -> bool {
        self.created == self.ready as u64 + self.taken + self.discarded
    }
}

fn share(hits: u64, misses: u64) -> Option<f64> {
    let all = hits + misses;
    (all > 0).then(|| hits as f64 / all as f64)
}
