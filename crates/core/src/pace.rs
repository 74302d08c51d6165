//! How long the turns of an app are, and so where they run. Turns of quick apps run inline, on the thread that has the
//! request. All others have threads of their own, where a hand-over costs a little and nobody waits behind them:
//!
//! ```text
//! Unknown ──────turns that are short on average──────> Quick
//!  ^   │                                                 │
//!  │   └──one long turn, or too many that ──> Slow <─────┘ one long turn, or turns that are long on average
//!  │      are not short                        │
//!  └───────────────penalty over────────────────┘
//! ```
//!
//! Nobody is taken to be quick before it was: the average begins so high that it takes some short turns to bring it down.
//! A penalty is longer each time.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One turn of this length makes an app slow.
const LONG: Duration = Duration::from_millis(20);
/// So do turns of this length on average.
const LONG_ON_AVERAGE: Duration = Duration::from_millis(2);
/// The average goes over about this many turns.
const WINDOW: u64 = 16;
/// The average of an app of which nothing is known: eight turns that take no time bring it below `LONG_ON_AVERAGE`.
const UNPROVEN: Duration = Duration::from_micros(3_300);
/// Turns within which it has to be brought down. First turns compile, and may take a while.
const TRIAL: u32 = 32;
const FIRST_PENALTY: Duration = Duration::from_secs(5);
const MOST_DOUBLINGS: u32 = 4;

/// Values of `slow_until` that are no times.
const QUICK: u64 = 0;
const UNKNOWN: u64 = u64::MAX;

/// What is known of an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gait {
    Quick,
    /// Too little, or its penalty is over.
    Unknown,
    Slow,
}

/// All values are hints: threads may overwrite each other's, and the next turn puts it right.
#[derive(Debug)]
pub struct Pace {
    began: Instant,
    /// Nanoseconds.
    average: AtomicU64,
    /// Milliseconds since `began`, or `QUICK`, or `UNKNOWN`.
    slow_until: AtomicU64,
    penalties: AtomicU32,
    /// Turns since it became unknown.
    trial: AtomicU32,
}

impl Pace {
    pub fn new(now: Instant) -> Self {
        let (average, slow_until) = (AtomicU64::new(nanos(UNPROVEN)), AtomicU64::new(UNKNOWN));
        Self { began: now, average, slow_until, penalties: AtomicU32::new(0), trial: AtomicU32::new(0) }
    }

    /// A turn is over that took `length`.
    pub fn note(&self, length: Duration) {
        let before = self.average.load(Ordering::Relaxed);
        let average = before - before / WINDOW + nanos(length) / WINDOW;
        self.average.store(average, Ordering::Relaxed);
        if length >= LONG || average >= nanos(LONG_ON_AVERAGE) {
            self.judge(length, Instant::now());
        }
    }

    /// A turn is going on that has taken `so_far`.
    pub fn note_running(&self, so_far: Duration) {
        if so_far >= LONG {
            self.slow_down(Instant::now());
        }
    }

    fn judge(&self, length: Duration, now: Instant) {
        let on_trial = self.slow_until.load(Ordering::Relaxed) == UNKNOWN;
        if length >= LONG || !on_trial || self.trial.fetch_add(1, Ordering::Relaxed) + 1 >= TRIAL {
            self.slow_down(now);
        }
    }

    fn slow_down(&self, now: Instant) {
        let now = self.millis(now);
        let until = self.slow_until.load(Ordering::Relaxed);
        let penalties = self.penalties.load(Ordering::Relaxed);
        // What happens during a penalty only makes it last.
        if until == UNKNOWN || until <= now {
            self.penalties.store((penalties + 1).min(MOST_DOUBLINGS), Ordering::Relaxed);
        }
        let penalty = FIRST_PENALTY * (1 << penalties.min(MOST_DOUBLINGS));
        let until = now.saturating_add(u64::try_from(penalty.as_millis()).unwrap_or(UNKNOWN));
        self.slow_until.store(until.clamp(QUICK + 1, UNKNOWN - 1), Ordering::Relaxed);
    }

    /// The same as asking for the gait, and a single load for those who are.
    pub fn is_quick(&self) -> bool {
        self.slow_until.load(Ordering::Relaxed) == QUICK || self.gait() == Gait::Quick
    }

    pub fn gait(&self) -> Gait {
        self.gait_at(Instant::now())
    }

    fn gait_at(&self, now: Instant) -> Gait {
        match self.slow_until.load(Ordering::Relaxed) {
            QUICK => Gait::Quick,
            UNKNOWN if self.average.load(Ordering::Relaxed) >= nanos(LONG_ON_AVERAGE) => Gait::Unknown,
            UNKNOWN => {
                self.change(UNKNOWN, QUICK);
                Gait::Quick
            }
            until if self.millis(now) < until => Gait::Slow,
            until => {
                // Before it is unknown: the average of its penalty would make it quick, or slow, at once.
                self.average.store(nanos(UNPROVEN), Ordering::Relaxed);
                self.trial.store(0, Ordering::Relaxed);
                self.change(until, UNKNOWN);
                Gait::Unknown
            }
        }
    }

    /// Unless somebody was faster: a penalty is not forgotten.
    fn change(&self, from: u64, to: u64) {
        let _ = self.slow_until.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn millis(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.began).as_millis()).unwrap_or(u64::MAX)
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(100);

    fn known(began: Instant) -> Pace {
        let pace = Pace::new(began);
        for _ in 0..10 {
            pace.note(SHORT);
        }
        assert_eq!(pace.gait_at(began), Gait::Quick);
        pace
    }

    #[test]
    fn short_turns_make_an_app_known() {
        let pace = Pace::new(Instant::now());
        let turns = (1..).find(|_| {
            assert!(!pace.is_quick());
            pace.note(SHORT);
            pace.is_quick()
        });
        assert_eq!(turns, Some(9));
        pace.note(Duration::from_millis(3));
        assert!(pace.is_quick(), "one that is not short changes nothing then");
    }

    #[test]
    fn first_turns_may_take_a_while() {
        let pace = Pace::new(Instant::now());
        for _ in 0..3 {
            pace.note(Duration::from_millis(15));
            assert_eq!(pace.gait(), Gait::Unknown);
        }
        let turns = (1..).find(|_| {
            pace.note(SHORT);
            pace.is_quick()
        });
        assert!(turns.is_some_and(|turns| turns < 25), "{turns:?}");
    }

    #[test]
    fn turns_that_are_never_short_make_an_app_slow() {
        let began = Instant::now();
        let pace = Pace::new(began);
        for _ in 1..TRIAL {
            pace.note(Duration::from_millis(3));
            assert_eq!(pace.gait(), Gait::Unknown);
        }
        pace.note(Duration::from_millis(3));
        assert_eq!(pace.gait(), Gait::Slow);
        assert_eq!(pace.gait_at(began + FIRST_PENALTY * 2), Gait::Unknown);
        for _ in 1..TRIAL {
            pace.note(Duration::from_millis(3));
            assert_eq!(pace.gait_at(began + FIRST_PENALTY * 2), Gait::Unknown, "it has as many turns again");
        }
    }

    #[test]
    fn one_long_turn_makes_an_app_slow_for_a_while() {
        let began = Instant::now();
        for pace in [Pace::new(began), known(began)] {
            pace.judge(LONG, began);
            assert_eq!(pace.gait_at(began + FIRST_PENALTY / 2), Gait::Slow);
            assert_eq!(pace.gait_at(began + FIRST_PENALTY), Gait::Unknown, "it has to be short again to be quick");
            let again = began + FIRST_PENALTY * 2;
            pace.judge(LONG, again);
            assert_eq!(pace.gait_at(again + FIRST_PENALTY), Gait::Slow, "the second time lasts longer");
            assert_eq!(pace.gait_at(again + FIRST_PENALTY * 2), Gait::Unknown);
            for _ in 0..10 {
                pace.note(SHORT);
            }
            assert_eq!(pace.gait_at(again + FIRST_PENALTY * 2), Gait::Quick);
        }
    }

    #[test]
    fn a_turn_that_goes_on_makes_an_app_slow() {
        let pace = known(Instant::now());
        pace.note_running(LONG / 2);
        assert!(pace.is_quick());
        pace.note_running(LONG);
        assert_eq!(pace.gait(), Gait::Slow);
    }

    #[test]
    fn turns_that_are_long_on_average_do_too() {
        let pace = known(Instant::now());
        for _ in 0..10 {
            pace.note(Duration::from_millis(1));
        }
        assert!(pace.is_quick());
        for _ in 0..30 {
            pace.note(Duration::from_millis(4));
        }
        assert_eq!(pace.gait(), Gait::Slow);
    }
}
