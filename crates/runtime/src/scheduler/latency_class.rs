//! The latency class of an app, from the measured length of its turns. Turns of fast apps run inline,
//! on the thread that has the request. All others have threads of their own: the hand-over costs a
//! little, and no request waits behind them. The state diagram is in `scheduler/mod.rs`.
//!
//! No app is taken to be fast before its turns were: the moving average begins so high that it takes
//! some short turns to bring it down. Each penalty is longer than the one before.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A turn of this length makes an app slow.
const SLOW_TURN: Duration = Duration::from_millis(20);
/// So does a moving average of this length.
const SLOW_AVERAGE: Duration = Duration::from_millis(2);
/// The moving average covers about this many turns.
const WINDOW: u64 = 16;
/// The average of an unproven app: eight turns that take no time bring it below `SLOW_AVERAGE`.
const INITIAL_AVERAGE: Duration = Duration::from_micros(3_300);
/// Turns within which the average must fall. First turns compile and may take long.
const PROBATION_TURNS: u32 = 32;
const FIRST_PENALTY: Duration = Duration::from_secs(5);
const MAX_DOUBLINGS: u32 = 4;

/// Values of `slow_until` that are not times.
const FAST: u64 = 0;
const UNPROVEN: u64 = u64::MAX;

/// What is known of the length of an app's turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LatencyClass {
    Fast,
    /// Too little, or its penalty has ended.
    Unproven,
    Slow,
}

/// The history behind the class. All values are hints: threads may overwrite each other's, and the next
/// turn corrects them.
#[derive(Debug)]
pub struct LatencyProfile {
    began: Instant,
    /// Nanoseconds.
    average: AtomicU64,
    /// Milliseconds since `began`, or `FAST`, or `UNPROVEN`.
    slow_until: AtomicU64,
    penalties: AtomicU32,
    /// Turns since the app became unproven.
    probation_turns: AtomicU32,
}

impl LatencyProfile {
    pub fn new(now: Instant) -> Self {
        let (average, slow_until) = (AtomicU64::new(nanos(INITIAL_AVERAGE)), AtomicU64::new(UNPROVEN));
        Self { began: now, average, slow_until, penalties: AtomicU32::new(0), probation_turns: AtomicU32::new(0) }
    }

    /// A turn has ended that took `length`.
    pub fn record(&self, length: Duration) {
        let before = self.average.load(Ordering::Relaxed);
        let average = before - before / WINDOW + nanos(length) / WINDOW;
        self.average.store(average, Ordering::Relaxed);
        if length >= SLOW_TURN || average >= nanos(SLOW_AVERAGE) {
            self.reclassify(length, Instant::now());
        }
    }

    /// A turn is running that has taken `so_far`.
    pub(crate) fn record_running(&self, so_far: Duration) {
        if so_far >= SLOW_TURN {
            self.demote(Instant::now());
        }
    }

    fn reclassify(&self, length: Duration, now: Instant) {
        let on_probation = self.slow_until.load(Ordering::Relaxed) == UNPROVEN;
        if length >= SLOW_TURN
            || !on_probation
            || self.probation_turns.fetch_add(1, Ordering::Relaxed) + 1 >= PROBATION_TURNS
        {
            self.demote(now);
        }
    }

    fn demote(&self, now: Instant) {
        let now = self.millis(now);
        let until = self.slow_until.load(Ordering::Relaxed);
        let penalties = self.penalties.load(Ordering::Relaxed);
        // A long turn during a penalty extends the penalty and does not double it.
        if until == UNPROVEN || until <= now {
            self.penalties.store((penalties + 1).min(MAX_DOUBLINGS), Ordering::Relaxed);
        }
        let penalty = FIRST_PENALTY * (1 << penalties.min(MAX_DOUBLINGS));
        let until = now.saturating_add(u64::try_from(penalty.as_millis()).unwrap_or(UNPROVEN));
        self.slow_until.store(until.clamp(FAST + 1, UNPROVEN - 1), Ordering::Relaxed);
    }

    /// The same as comparing the class, with a single load for fast apps.
    pub(crate) fn is_fast(&self) -> bool {
        self.slow_until.load(Ordering::Relaxed) == FAST || self.class() == LatencyClass::Fast
    }

    pub(crate) fn class(&self) -> LatencyClass {
        self.class_at(Instant::now())
    }

    fn class_at(&self, now: Instant) -> LatencyClass {
        match self.slow_until.load(Ordering::Relaxed) {
            FAST => LatencyClass::Fast,
            UNPROVEN if self.average.load(Ordering::Relaxed) >= nanos(SLOW_AVERAGE) => LatencyClass::Unproven,
            UNPROVEN => {
                self.change(UNPROVEN, FAST);
                LatencyClass::Fast
            }
            until if self.millis(now) < until => LatencyClass::Slow,
            until => {
                // Stored before the state changes: the average of the penalty would decide the class at once.
                self.average.store(nanos(INITIAL_AVERAGE), Ordering::Relaxed);
                self.probation_turns.store(0, Ordering::Relaxed);
                self.change(until, UNPROVEN);
                LatencyClass::Unproven
            }
        }
    }

    /// Does nothing if another thread was faster: a penalty is not forgotten.
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

    fn proven(began: Instant) -> LatencyProfile {
        let profile = LatencyProfile::new(began);
        for _ in 0..10 {
            profile.record(SHORT);
        }
        assert_eq!(profile.class_at(began), LatencyClass::Fast);
        profile
    }

    #[test]
    fn short_turns_make_an_app_fast() {
        let profile = LatencyProfile::new(Instant::now());
        let turns = (1..).find(|_| {
            assert!(!profile.is_fast());
            profile.record(SHORT);
            profile.is_fast()
        });
        assert_eq!(turns, Some(9));
        profile.record(Duration::from_millis(3));
        assert!(profile.is_fast(), "a single turn that is not short changes nothing");
    }

    #[test]
    fn first_turns_may_take_a_while() {
        let profile = LatencyProfile::new(Instant::now());
        for _ in 0..3 {
            profile.record(Duration::from_millis(15));
            assert_eq!(profile.class(), LatencyClass::Unproven);
        }
        let turns = (1..).find(|_| {
            profile.record(SHORT);
            profile.is_fast()
        });
        assert!(turns.is_some_and(|turns| turns < 25), "{turns:?}");
    }

    #[test]
    fn turns_that_are_never_short_make_an_app_slow() {
        let began = Instant::now();
        let profile = LatencyProfile::new(began);
        for _ in 1..PROBATION_TURNS {
            profile.record(Duration::from_millis(3));
            assert_eq!(profile.class(), LatencyClass::Unproven);
        }
        profile.record(Duration::from_millis(3));
        assert_eq!(profile.class(), LatencyClass::Slow);
        assert_eq!(profile.class_at(began + FIRST_PENALTY * 2), LatencyClass::Unproven);
        for _ in 1..PROBATION_TURNS {
            profile.record(Duration::from_millis(3));
            assert_eq!(
                profile.class_at(began + FIRST_PENALTY * 2),
                LatencyClass::Unproven,
                "the probation starts again"
            );
        }
    }

    #[test]
    fn one_long_turn_makes_an_app_slow_for_a_while() {
        let began = Instant::now();
        for profile in [LatencyProfile::new(began), proven(began)] {
            profile.reclassify(SLOW_TURN, began);
            assert_eq!(profile.class_at(began + FIRST_PENALTY / 2), LatencyClass::Slow);
            assert_eq!(
                profile.class_at(began + FIRST_PENALTY),
                LatencyClass::Unproven,
                "its turns must be short again before it is fast"
            );
            let again = began + FIRST_PENALTY * 2;
            profile.reclassify(SLOW_TURN, again);
            assert_eq!(profile.class_at(again + FIRST_PENALTY), LatencyClass::Slow, "the second penalty lasts longer");
            assert_eq!(profile.class_at(again + FIRST_PENALTY * 2), LatencyClass::Unproven);
            for _ in 0..10 {
                profile.record(SHORT);
            }
            assert_eq!(profile.class_at(again + FIRST_PENALTY * 2), LatencyClass::Fast);
        }
    }

    #[test]
    fn a_long_running_turn_makes_an_app_slow() {
        let profile = proven(Instant::now());
        profile.record_running(SLOW_TURN / 2);
        assert!(profile.is_fast());
        profile.record_running(SLOW_TURN);
        assert_eq!(profile.class(), LatencyClass::Slow);
    }

    #[test]
    fn a_long_average_makes_an_app_slow() {
        let profile = proven(Instant::now());
        for _ in 0..10 {
            profile.record(Duration::from_millis(1));
        }
        assert!(profile.is_fast());
        for _ in 0..30 {
            profile.record(Duration::from_millis(4));
        }
        assert_eq!(profile.class(), LatencyClass::Slow);
    }
}
