//! What all isolates of the process hold together, against what the process may hold.
//!
//! V8 puts the heaps of all isolates into one cage of 4 GiB, and running out of it ends the process. So every isolate has
//! an entry here, brought up to date after each of its collections and long turns. Above the mark of pressure whoever keeps
//! idle workers is asked to let some go; above the budget itself the isolate that goes on growing is terminated.
//! Array buffers lie outside the cage: they count against the memory of the machine.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use hearth_core::ByteSize;

/// What an isolate takes of the cage before any code of an app is in it.
pub const BLANK: ByteSize = ByteSize(1 << 20);
/// Pressure begins at this part of the budget.
const PRESSURE_PERCENT: u64 = 80;
/// Smaller isolates are never the ones that must go: there can be but one growing per thread.
const INNOCENT: u64 = 16 << 20;

static HEAPS: AtomicU64 = AtomicU64::new(0);
static BUFFERS: AtomicU64 = AtomicU64::new(0);
static ISOLATES: AtomicU64 = AtomicU64::new(0);
static CREATED: AtomicU64 = AtomicU64::new(0);
static RULES: OnceLock<Rules> = OnceLock::new();

/// What the process may hold, and who is asked to give way.
pub struct Rules {
    /// For V8's heaps.
    pub heaps: ByteSize,
    /// For heaps and array buffers together.
    pub total: ByteSize,
    /// Called on the thread of the isolate that grew, often: must be quick.
    pub on_pressure: Arc<dyn Fn() + Send + Sync>,
}

/// What the process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holdings {
    pub heaps: ByteSize,
    pub buffers: ByteSize,
    pub isolates: u64,
    pub created: u64,
}

/// One isolate's part.
pub(crate) struct Entry {
    heap: AtomicU64,
    buffers: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    /// The budget is used up, and this isolate has a part in it.
    Over {
        used: ByteSize,
        budget: ByteSize,
    },
}

/// Sets the budget; the first call counts.
pub fn set_budget(rules: Rules) {
    drop(RULES.set(rules));
}

pub fn holdings() -> Holdings {
    Holdings {
        heaps: ByteSize(HEAPS.load(Ordering::Relaxed)),
        buffers: ByteSize(BUFFERS.load(Ordering::Relaxed)),
        isolates: ISOLATES.load(Ordering::Relaxed),
        created: CREATED.load(Ordering::Relaxed),
    }
}

// === impl Entry ===

impl Entry {
    pub(crate) fn open() -> Self {
        ISOLATES.fetch_add(1, Ordering::Relaxed);
        CREATED.fetch_add(1, Ordering::Relaxed);
        HEAPS.fetch_add(BLANK.bytes(), Ordering::Relaxed);
        Self { heap: AtomicU64::new(BLANK.bytes()), buffers: AtomicU64::new(0) }
    }

    /// What the isolate holds now.
    pub(crate) fn size(&self) -> ByteSize {
        ByteSize(self.heap.load(Ordering::Relaxed) + self.buffers.load(Ordering::Relaxed))
    }

    pub(crate) fn update(&self, heap: u64, buffers: u64) -> Verdict {
        let heap = heap.max(BLANK.bytes());
        let heaps = exchange(&HEAPS, &self.heap, heap);
        let total = heaps.saturating_add(exchange(&BUFFERS, &self.buffers, buffers));
        match RULES.get() {
            Some(rules) => rules.judge(heaps, total, heap + buffers),
            None => Verdict::Fine,
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        ISOLATES.fetch_sub(1, Ordering::Relaxed);
        HEAPS.fetch_sub(*self.heap.get_mut(), Ordering::Relaxed);
        BUFFERS.fetch_sub(*self.buffers.get_mut(), Ordering::Relaxed);
    }
}

/// Replaces `part` within `sum`; returns the new sum. Only one thread at a time is in an isolate, so `part` has one writer.
fn exchange(sum: &AtomicU64, part: &AtomicU64, now: u64) -> u64 {
    let before = part.swap(now, Ordering::Relaxed);
    if now >= before {
        sum.fetch_add(now - before, Ordering::Relaxed) + (now - before)
    } else {
        sum.fetch_sub(before - now, Ordering::Relaxed).saturating_sub(before - now)
    }
}

// === impl Rules ===

impl Rules {
    fn judge(&self, heaps: u64, total: u64, own: u64) -> Verdict {
        for (used, budget) in [(heaps, self.heaps), (total, self.total)] {
            if used > budget.bytes() / 100 * PRESSURE_PERCENT {
                (self.on_pressure)();
            }
            if used > budget.bytes() && own > INNOCENT {
                return Verdict::Over { used: ByteSize(used), budget };
            }
        }
        Verdict::Fine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_asks_for_room_and_stops_whoever_grows() {
        let asked = Arc::new(AtomicU64::new(0));
        let rules = Rules {
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
        assert_eq!(rules.judge(mb(79), mb(79), mb(40)), Verdict::Fine);
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        assert_eq!(rules.judge(mb(90), mb(90), mb(40)), Verdict::Fine);
        assert_eq!(asked.load(Ordering::Relaxed), 1, "there is pressure");
        assert_eq!(rules.judge(mb(101), mb(101), mb(2)), Verdict::Fine, "a small one is not to blame");
        let over = Verdict::Over { used: ByteSize::mb(101), budget: ByteSize::mb(100) };
        assert_eq!(rules.judge(mb(101), mb(101), mb(40)), over);
        let over = Verdict::Over { used: ByteSize::mb(201), budget: ByteSize::mb(200) };
        assert_eq!(rules.judge(mb(50), mb(201), mb(150)), over, "array buffers count too");
    }

    #[test]
    fn an_isolate_that_goes_takes_its_part_with_it() {
        let before = holdings();
        let entry = Entry::open();
        entry.update(10 << 20, 5 << 20);
        entry.update(8 << 20, 0);
        assert_eq!(entry.size(), ByteSize(8 << 20));
        drop(entry);
        let after = holdings();
        assert_eq!((before.heaps, before.buffers), (after.heaps, after.buffers));
    }
}
