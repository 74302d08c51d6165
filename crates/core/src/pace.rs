//! How long the turns of an app are, and so where they run. Turns of quick apps run inline, on the thread that has the
//! request. An app with a long turn, or with turns that are long on average, is slow for a while: its turns run on threads
//! of their own, where a hand-over costs a little and nobody waits behind them. It is quick again when it has behaved for
//! some time, which doubles each time it does not.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// One turn of this length makes an app slow.
const LONG: Duration = Duration::from_millis(20);
/// So do turns of this length on average.
const LONG_ON_AVERAGE: Duration = Duration::from_millis(2);
/// The average goes over about this many turns.
const WINDOW: u64 = 16;
const FIRST_PENALTY: Duration = Duration::from_secs(5);
const MOST_DOUBLINGS: u32 = 4;

/// All values are hints: threads may overwrite each other's, and the next turn puts it right.
#[derive(Debug)]
pub struct Pace {
    began: Instant,
    /// Nanoseconds.
    average: AtomicU64,
    /// Milliseconds since `began`; 0: not slow.
    slow_until: AtomicU64,
    penalties: AtomicU32,
}

impl Pace {
    pub fn new(now: Instant) -> Self {
        Self { began: now, average: AtomicU64::new(0), slow_until: AtomicU64::new(0), penalties: AtomicU32::new(0) }
    }

    /// A turn is over that took `length`.
    pub fn note(&self, length: Duration) {
        let nanos = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX / WINDOW);
        let before = self.average.load(Ordering::Relaxed);
        let average = before - before / WINDOW + nanos / WINDOW;
        self.average.store(average, Ordering::Relaxed);
        if length >= LONG || average >= LONG_ON_AVERAGE.as_nanos() as u64 {
            self.slow_down(Instant::now());
        }
    }

    /// A turn is going on that has taken `so_far`.
    pub fn note_running(&self, so_far: Duration) {
        if so_far >= LONG {
            self.slow_down(Instant::now());
        }
    }

    fn slow_down(&self, now: Instant) {
        let now = self.millis(now);
        let until = self.slow_until.load(Ordering::Relaxed);
        let penalties = self.penalties.load(Ordering::Relaxed);
        // What happens during a penalty only makes it last.
        if until <= now {
            self.penalties.store((penalties + 1).min(MOST_DOUBLINGS), Ordering::Relaxed);
        }
        let penalty = FIRST_PENALTY * (1 << penalties.min(MOST_DOUBLINGS));
        let until = now.saturating_add(u64::try_from(penalty.as_millis()).unwrap_or(u64::MAX));
        self.slow_until.store(until.max(1), Ordering::Relaxed);
    }

    pub fn is_slow(&self) -> bool {
        self.slow_until.load(Ordering::Relaxed) != 0 && self.is_slow_at(Instant::now())
    }

    fn is_slow_at(&self, now: Instant) -> bool {
        let until = self.slow_until.load(Ordering::Relaxed);
        if until == 0 {
            return false;
        }
        if self.millis(now) < until {
            return true;
        }
        self.slow_until.store(0, Ordering::Relaxed);
        self.average.store(0, Ordering::Relaxed);
        false
    }

    fn millis(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.began).as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_turn_makes_an_app_slow_for_a_while() {
        let began = Instant::now();
        let pace = Pace::new(began);
        pace.note(Duration::from_millis(1));
        assert!(!pace.is_slow());
        pace.slow_down(began);
        assert!(pace.is_slow_at(began + FIRST_PENALTY / 2));
        assert!(!pace.is_slow_at(began + FIRST_PENALTY));
        let again = began + FIRST_PENALTY * 2;
        pace.slow_down(again);
        assert!(pace.is_slow_at(again + FIRST_PENALTY), "the second time lasts longer");
        assert!(!pace.is_slow_at(again + FIRST_PENALTY * 2));
    }

    #[test]
    fn turns_that_are_long_on_average_do_too() {
        let pace = Pace::new(Instant::now());
        for _ in 0..10 {
            pace.note(Duration::from_millis(1));
        }
        assert!(!pace.is_slow());
        for _ in 0..30 {
            pace.note(Duration::from_millis(4));
        }
        assert!(pace.is_slow());
    }
}
