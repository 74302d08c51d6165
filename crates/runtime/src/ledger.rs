//! What all isolates of the process hold together, against what the process may hold.
//!
//! V8 puts the heaps of all isolates into one cage of 4 GiB, and running out of it ends the process. So every isolate has
//! an entry here, brought up to date after each of its collections and long turns. Above the mark of pressure whoever keeps
//! idle workers is asked to let some go; above the budget itself the isolate that goes on growing is terminated.
//! Array buffers lie outside the cage: they count against the memory of the machine.
//!
//! Each entry says whose it is once an app has it, so that who holds the most can be named when it is too late (`cage.rs`).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use hearth_core::{AppName, ByteSize, MemoryAccount, Owner, VersionName};

use crate::app::App;

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
/// Of all isolates.
static PARTS: Mutex<Vec<Arc<Part>>> = Mutex::new(Vec::new());
/// How often somebody who crashes looks whether the parts are free: who has them is quick.
const LOOKS: usize = 1_000;

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
    /// Array buffers, and what apps have on its way: bodies and messages.
    pub buffers: ByteSize,
    pub isolates: u64,
    pub created: u64,
}

/// One isolate's part; closed when dropped.
pub(crate) struct Entry(Arc<Part>);

#[derive(Default)]
struct Part {
    heap: AtomicU64,
    buffers: AtomicU64,
    whose: OnceLock<Whose>,
}

/// Who an isolate works for. In one that several apps of an owner use, the first of them.
pub(crate) struct Whose {
    pub(crate) app: AppName,
    pub(crate) version: VersionName,
    pub(crate) owner: Owner,
}

/// How full the cage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crowd {
    Roomy,
    /// Above the mark of pressure: with what is just being taken it may be full.
    Pressing,
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
        buffers: ByteSize(BUFFERS.load(Ordering::Relaxed) + MemoryAccount::held_by_all().bytes()),
        isolates: ISOLATES.load(Ordering::Relaxed),
        created: CREATED.load(Ordering::Relaxed),
    }
}

/// The owners whose isolates hold the most, the largest first, up to `most`; array buffers and natives counted.
pub fn holders(most: usize) -> Vec<(Owner, ByteSize)> {
    let mut by_owner: HashMap<Owner, u64> = HashMap::new();
    for part in parts().iter() {
        let Some(whose) = part.whose.get() else { continue };
        let held = part.heap.load(Ordering::Relaxed) + part.buffers.load(Ordering::Relaxed);
        match by_owner.get_mut(&whose.owner) {
            Some(sum) => *sum += held,
            None => drop(by_owner.insert(whose.owner.clone(), held)),
        }
    }
    let mut all: Vec<_> = by_owner.into_iter().map(|(owner, held)| (owner, ByteSize(held))).collect();
    all.sort_unstable_by(|(one, held), (other, more)| more.cmp(held).then_with(|| one.as_str().cmp(other.as_str())));
    all.truncate(most);
    all
}

pub(crate) fn crowd() -> Crowd {
    let heaps = HEAPS.load(Ordering::Relaxed);
    RULES.get().map_or(Crowd::Roomy, |rules| rules.crowd(heaps))
}

// === impl Entry ===

impl Entry {
    pub(crate) fn open() -> Self {
        ISOLATES.fetch_add(1, Ordering::Relaxed);
        CREATED.fetch_add(1, Ordering::Relaxed);
        HEAPS.fetch_add(BLANK.bytes(), Ordering::Relaxed);
        let part = Arc::new(Part { heap: AtomicU64::new(BLANK.bytes()), ..Part::default() });
        parts().push(part.clone());
        Self(part)
    }

    /// From now on it is this app's.
    pub(crate) fn settle(&self, app: &App) {
        let App { name, version, owner, .. } = app;
        let whose = || Whose { app: name.clone(), version: version.clone(), owner: owner.clone() };
        self.0.whose.get_or_init(whose);
    }

    /// What the isolate holds now.
    pub(crate) fn size(&self) -> ByteSize {
        ByteSize(self.0.heap.load(Ordering::Relaxed) + self.0.buffers.load(Ordering::Relaxed))
    }

    pub(crate) fn update(&self, heap: u64, buffers: u64) -> Verdict {
        let heap = heap.max(BLANK.bytes());
        let heaps = exchange(&HEAPS, &self.0.heap, heap);
        let total = heaps.saturating_add(exchange(&BUFFERS, &self.0.buffers, buffers));
        let total = total.saturating_add(MemoryAccount::held_by_all().bytes());
        match RULES.get() {
            Some(rules) => rules.judge(heaps, total, heap + buffers),
            None => Verdict::Fine,
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        ISOLATES.fetch_sub(1, Ordering::Relaxed);
        HEAPS.fetch_sub(self.0.heap.load(Ordering::Relaxed), Ordering::Relaxed);
        BUFFERS.fetch_sub(self.0.buffers.load(Ordering::Relaxed), Ordering::Relaxed);
        let mut parts = parts();
        if let Some(at) = parts.iter().position(|part| Arc::ptr_eq(part, &self.0)) {
            parts.swap_remove(at);
        }
    }
}

fn parts() -> MutexGuard<'static, Vec<Arc<Part>>> {
    // Nothing that can panic runs under this lock.
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says which owner's isolates hold the most of the cage together, by the largest of them, and how much that is. For who
/// crashes: allocates nothing, and does not wait for long. Where the parts are not free by then, nobody is known.
pub(crate) fn with_largest_holder(tell: impl FnOnce(Option<(&Whose, ByteSize)>)) {
    let looks = (0..LOOKS).find_map(|_| match PARTS.try_lock() {
        Ok(parts) => Some(parts),
        Err(TryLockError::Poisoned(parts)) => Some(parts.into_inner()),
        Err(TryLockError::WouldBlock) => {
            std::thread::yield_now();
            None
        }
    });
    tell(looks.as_deref().and_then(|parts| largest(parts.iter().map(|part| &**part))));
}

fn largest<'a>(parts: impl Iterator<Item = &'a Part> + Clone) -> Option<(&'a Whose, ByteSize)> {
    let heap = |part: &Part| part.heap.load(Ordering::Relaxed);
    let owned = parts.filter_map(|part| Some((part.whose.get()?, heap(part))));
    let held = |owner: &Owner| owned.clone().filter(|(whose, _)| whose.owner == *owner).map(|(_, heap)| heap).sum();
    let (whose, _) = owned.clone().max_by_key(|(whose, heap)| (held(&whose.owner), *heap))?;
    Some((whose, ByteSize(held(&whose.owner))))
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
    fn crowd(&self, heaps: u64) -> Crowd {
        if heaps > mark(self.heaps) { Crowd::Pressing } else { Crowd::Roomy }
    }

    fn judge(&self, heaps: u64, total: u64, own: u64) -> Verdict {
        for (used, budget) in [(heaps, self.heaps), (total, self.total)] {
            if used > mark(budget) {
                (self.on_pressure)();
            }
            if used > budget.bytes() && own > INNOCENT {
                return Verdict::Over { used: ByteSize(used), budget };
            }
        }
        Verdict::Fine
    }
}

/// Where pressure begins.
fn mark(budget: ByteSize) -> u64 {
    budget.bytes() / 100 * PRESSURE_PERCENT
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
        assert_eq!((rules.crowd(mb(79)), rules.crowd(mb(90))), (Crowd::Roomy, Crowd::Pressing));
        assert_eq!(rules.judge(mb(101), mb(101), mb(2)), Verdict::Fine, "a small one is not to blame");
        let over = Verdict::Over { used: ByteSize::mb(101), budget: ByteSize::mb(100) };
        assert_eq!(rules.judge(mb(101), mb(101), mb(40)), over);
        let over = Verdict::Over { used: ByteSize::mb(201), budget: ByteSize::mb(200) };
        assert_eq!(rules.judge(mb(50), mb(201), mb(150)), over, "array buffers count too");
    }

    fn part(app: &str, owner: &str, heap: u64) -> Part {
        let (app, version) = (AppName::new(app), VersionName::new("1.0.0"));
        let whose = Whose { app, version, owner: Owner::new(owner) };
        Part { heap: AtomicU64::new(heap), whose: OnceLock::from(whose), ..Part::default() }
    }

    #[test]
    fn the_largest_holder_is_an_owner_with_all_its_isolates() {
        let named = |parts: &[Part]| largest(parts.iter()).map(|(whose, held)| (whose.app.to_string(), held.bytes()));
        assert_eq!(named(&[]), None);
        assert_eq!(named(&[Part { heap: AtomicU64::new(9), ..Part::default() }]), None, "a spare is nobody's");
        let parts = [part("one", "ann", 50), part("two", "bob", 30), part("three", "bob", 40), part("four", "eve", 1)];
        assert_eq!(named(&parts), Some(("three".to_owned(), 70)));
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
