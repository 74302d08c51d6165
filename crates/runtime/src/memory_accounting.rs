//! The memory of all isolates of the process together, and its budget.
//!
//! V8 puts the heaps of all isolates into one cage of 4 GiB, and running out of it ends the process. So
//! every isolate registers its usage here and updates it after each of its collections and long turns.
//! Above the pressure mark, pools are asked to dispose of idle workers; above the budget itself, an
//! isolate that goes on growing is terminated. Array buffers lie outside of the cage: they count against
//! the memory of the machine.
//!
//! A usage names its app once the isolate has one, so that the largest holder can be named when memory
//! runs out (`oom_attribution.rs`).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use hearth_core::{AppName, ByteSize, MemoryAccount, Owner, VersionName};

use crate::app::App;

/// What an isolate takes of the cage before it has code of an app.
pub const EMPTY_ISOLATE_SIZE: ByteSize = ByteSize(1 << 20);
/// Pressure begins at this part of the budget.
const PRESSURE_PERCENT: u64 = 80;
/// Smaller isolates are never terminated for the budget: only one per thread can grow at a time.
const MIN_ACCOUNTABLE: u64 = 16 << 20;

static HEAPS: AtomicU64 = AtomicU64::new(0);
static BUFFERS: AtomicU64 = AtomicU64::new(0);
static ISOLATES: AtomicU64 = AtomicU64::new(0);
static CREATED: AtomicU64 = AtomicU64::new(0);
static BUDGET: OnceLock<MemoryBudget> = OnceLock::new();
/// One of each isolate.
static CELLS: Mutex<Vec<Arc<UsageCell>>> = Mutex::new(Vec::new());
/// How often a crashing thread tries to lock the cells: other threads hold them briefly.
const MAX_LOCK_ATTEMPTS: usize = 1_000;

/// What the process may hold, and how pools are asked to make room.
pub struct MemoryBudget {
    /// For V8's heaps.
    pub heaps: ByteSize,
    /// For heaps and array buffers together.
    pub total: ByteSize,
    /// Called often, on the thread of the isolate that grew: must be fast.
    pub on_pressure: Arc<dyn Fn() + Send + Sync>,
}

/// What the process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryTotals {
    pub heaps: ByteSize,
    /// Array buffers, and bodies and messages in transit.
    pub buffers: ByteSize,
    pub isolates: u64,
    pub created: u64,
}

/// The usage of one isolate; removed when dropped.
pub(crate) struct IsolateUsage(Arc<UsageCell>);

#[derive(Default)]
struct UsageCell {
    heap: AtomicU64,
    buffers: AtomicU64,
    owner: OnceLock<UsageOwner>,
}

/// The app that an isolate works for. The first one, where several apps of an owner share the isolate.
pub(crate) struct UsageOwner {
    pub(crate) app: AppName,
    pub(crate) version: VersionName,
    pub(crate) owner: Owner,
}

/// How full the cage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryPressure {
    Low,
    /// Above the pressure mark: with what is being allocated the cage may be full.
    High,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetCheck {
    Within,
    /// The budget is used up, and this isolate is large.
    Over {
        used: ByteSize,
        budget: ByteSize,
    },
}

pub(crate) fn set_memory_budget(budget_rules: MemoryBudget) {
    drop(BUDGET.set(budget_rules));
}

pub fn memory_totals() -> MemoryTotals {
    MemoryTotals {
        heaps: ByteSize(HEAPS.load(Ordering::Relaxed)),
        buffers: ByteSize(BUFFERS.load(Ordering::Relaxed) + MemoryAccount::held_by_all().bytes()),
        isolates: ISOLATES.load(Ordering::Relaxed),
        created: CREATED.load(Ordering::Relaxed),
    }
}

/// Up to `max` owners whose isolates hold the most memory, the largest first. Includes array buffers and
/// native objects.
pub fn memory_by_owner(max: usize) -> Vec<(Owner, ByteSize)> {
    let mut by_owner: HashMap<Owner, u64> = HashMap::new();
    for cell in cells().iter() {
        let Some(holder) = cell.owner.get() else { continue };
        let held = cell.heap.load(Ordering::Relaxed) + cell.buffers.load(Ordering::Relaxed);
        match by_owner.get_mut(&holder.owner) {
            Some(sum) => *sum += held,
            None => drop(by_owner.insert(holder.owner.clone(), held)),
        }
    }
    let mut all: Vec<_> = by_owner.into_iter().map(|(owner, held)| (owner, ByteSize(held))).collect();
    all.sort_unstable_by(|(one, held), (other, more)| more.cmp(held).then_with(|| one.as_str().cmp(other.as_str())));
    all.truncate(max);
    all
}

pub(crate) fn pressure() -> MemoryPressure {
    let heaps = HEAPS.load(Ordering::Relaxed);
    BUDGET.get().map_or(MemoryPressure::Low, |budget_rules| budget_rules.pressure(heaps))
}

// === impl Entry ===

impl IsolateUsage {
    pub(crate) fn register() -> Self {
        ISOLATES.fetch_add(1, Ordering::Relaxed);
        CREATED.fetch_add(1, Ordering::Relaxed);
        HEAPS.fetch_add(EMPTY_ISOLATE_SIZE.bytes(), Ordering::Relaxed);
        let cell = Arc::new(UsageCell { heap: AtomicU64::new(EMPTY_ISOLATE_SIZE.bytes()), ..UsageCell::default() });
        cells().push(cell.clone());
        Self(cell)
    }

    /// Names the app. The first call counts.
    pub(crate) fn assign(&self, app: &App) {
        let App { name, version, owner, .. } = app;
        let usage_owner = || UsageOwner { app: name.clone(), version: version.clone(), owner: owner.clone() };
        self.0.owner.get_or_init(usage_owner);
    }

    /// What the isolate holds.
    pub(crate) fn size(&self) -> ByteSize {
        ByteSize(self.0.heap.load(Ordering::Relaxed) + self.0.buffers.load(Ordering::Relaxed))
    }

    pub(crate) fn update(&self, heap: u64, buffers: u64) -> BudgetCheck {
        let heap = heap.max(EMPTY_ISOLATE_SIZE.bytes());
        let heaps = exchange(&HEAPS, &self.0.heap, heap);
        let total = heaps.saturating_add(exchange(&BUFFERS, &self.0.buffers, buffers));
        let total = total.saturating_add(MemoryAccount::held_by_all().bytes());
        match BUDGET.get() {
            Some(budget_rules) => budget_rules.check(heaps, total, heap + buffers),
            None => BudgetCheck::Within,
        }
    }
}

impl Drop for IsolateUsage {
    fn drop(&mut self) {
        ISOLATES.fetch_sub(1, Ordering::Relaxed);
        HEAPS.fetch_sub(self.0.heap.load(Ordering::Relaxed), Ordering::Relaxed);
        BUFFERS.fetch_sub(self.0.buffers.load(Ordering::Relaxed), Ordering::Relaxed);
        let mut cells = cells();
        if let Some(at) = cells.iter().position(|cell| Arc::ptr_eq(cell, &self.0)) {
            cells.swap_remove(at);
        }
    }
}

fn cells() -> MutexGuard<'static, Vec<Arc<UsageCell>>> {
    // Nothing that can panic runs under this lock.
    CELLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reports the owner whose isolates hold the most of the cage, by the largest of them, and how much that
/// is. For a crashing thread: allocates nothing and waits for a bounded time, after which the owner is
/// unknown.
pub(crate) fn with_largest_holder(report: impl FnOnce(Option<(&UsageOwner, ByteSize)>)) {
    let looks = (0..MAX_LOCK_ATTEMPTS).find_map(|_| match CELLS.try_lock() {
        Ok(cells) => Some(cells),
        Err(TryLockError::Poisoned(cells)) => Some(cells.into_inner()),
        Err(TryLockError::WouldBlock) => {
            std::thread::yield_now();
            None
        }
    });
    report(looks.as_deref().and_then(|cells| largest(cells.iter().map(|cell| &**cell))));
}

fn largest<'a>(cells: impl Iterator<Item = &'a UsageCell> + Clone) -> Option<(&'a UsageOwner, ByteSize)> {
    let heap = |cell: &UsageCell| cell.heap.load(Ordering::Relaxed);
    let owned = cells.filter_map(|cell| Some((cell.owner.get()?, heap(cell))));
    let held = |owner: &Owner| owned.clone().filter(|(holder, _)| holder.owner == *owner).map(|(_, heap)| heap).sum();
    let (holder, _) = owned.clone().max_by_key(|(holder, heap)| (held(&holder.owner), *heap))?;
    Some((holder, ByteSize(held(&holder.owner))))
}

/// Replaces `cell` within `sum`; returns the new sum. One thread at a time is in an isolate, so `cell` has
/// one writer.
fn exchange(sum: &AtomicU64, cell: &AtomicU64, now: u64) -> u64 {
    let before = cell.swap(now, Ordering::Relaxed);
    if now >= before {
        sum.fetch_add(now - before, Ordering::Relaxed) + (now - before)
    } else {
        sum.fetch_sub(before - now, Ordering::Relaxed).saturating_sub(before - now)
    }
}

// === impl Rules ===

impl MemoryBudget {
    fn pressure(&self, heaps: u64) -> MemoryPressure {
        if heaps > pressure_mark(self.heaps) { MemoryPressure::High } else { MemoryPressure::Low }
    }

    fn check(&self, heaps: u64, total: u64, own: u64) -> BudgetCheck {
        for (used, budget) in [(heaps, self.heaps), (total, self.total)] {
            if used > pressure_mark(budget) {
                (self.on_pressure)();
            }
            if used > budget.bytes() && own > MIN_ACCOUNTABLE {
                return BudgetCheck::Over { used: ByteSize(used), budget };
            }
        }
        BudgetCheck::Within
    }
}

/// Where pressure begins.
fn pressure_mark(budget: ByteSize) -> u64 {
    budget.bytes() / 100 * PRESSURE_PERCENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_asks_for_room_and_stops_isolates_that_grow() {
        let asked = Arc::new(AtomicU64::new(0));
        let budget_rules = MemoryBudget {
            heaps: ByteSize::mb(100),
            total: ByteSize::mb(200),
            on_pressure: Arc::new({
                let asked = asked.clone();
                move || {
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            }),
        };
        let mb = |n| ByteSize::mb(n).bytes();
        assert_eq!(budget_rules.check(mb(79), mb(79), mb(40)), BudgetCheck::Within);
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        assert_eq!(budget_rules.check(mb(90), mb(90), mb(40)), BudgetCheck::Within);
        assert_eq!(asked.load(Ordering::Relaxed), 1, "there is pressure");
        assert_eq!(
            (budget_rules.pressure(mb(79)), budget_rules.pressure(mb(90))),
            (MemoryPressure::Low, MemoryPressure::High)
        );
        assert_eq!(
            budget_rules.check(mb(101), mb(101), mb(2)),
            BudgetCheck::Within,
            "a small isolate is not terminated"
        );
        let over = BudgetCheck::Over { used: ByteSize::mb(101), budget: ByteSize::mb(100) };
        assert_eq!(budget_rules.check(mb(101), mb(101), mb(40)), over);
        let over = BudgetCheck::Over { used: ByteSize::mb(201), budget: ByteSize::mb(200) };
        assert_eq!(budget_rules.check(mb(50), mb(201), mb(150)), over, "array buffers count too");
    }

    fn usage_cell(app: &str, owner: &str, heap: u64) -> UsageCell {
        let (app, version) = (AppName::new(app), VersionName::new("1.0.0"));
        let usage_owner = UsageOwner { app, version, owner: Owner::new(owner) };
        UsageCell { heap: AtomicU64::new(heap), owner: OnceLock::from(usage_owner), ..UsageCell::default() }
    }

    #[test]
    fn the_largest_holder_is_an_owner_with_all_its_isolates() {
        let named =
            |cells: &[UsageCell]| largest(cells.iter()).map(|(holder, held)| (holder.app.to_string(), held.bytes()));
        assert_eq!(named(&[]), None);
        assert_eq!(
            named(&[UsageCell { heap: AtomicU64::new(9), ..UsageCell::default() }]),
            None,
            "a spare has no owner"
        );
        let cells = [
            usage_cell("one", "ann", 50),
            usage_cell("two", "bob", 30),
            usage_cell("three", "bob", 40),
            usage_cell("four", "eve", 1),
        ];
        assert_eq!(named(&cells), Some(("three".to_owned(), 70)));
    }

    #[test]
    fn a_dropped_isolate_removes_its_usage() {
        let before = memory_totals();
        let usage = IsolateUsage::register();
        usage.update(10 << 20, 5 << 20);
        usage.update(8 << 20, 0);
        assert_eq!(usage.size(), ByteSize(8 << 20));
        drop(usage);
        let after = memory_totals();
        assert_eq!((before.heaps, before.buffers), (after.heaps, after.buffers));
    }
}
