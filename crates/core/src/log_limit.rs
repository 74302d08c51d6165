//! Limits log lines that apps and clients can cause: a burst, then so many a second. Suppressed lines are counted, and the count is
//! given with the next line that is admitted.

use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct LogLimiter {
    burst: u32,
    per_second: u32,
    left: u32,
    refilled: Instant,
    held_back: u64,
}

/// Whether a line may be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// It may; so many lines were suppressed since the last one.
    Yes {
        held_back: u64,
    },
    No,
}

impl LogLimiter {
    pub fn new(burst: u32, per_second: u32) -> Self {
        Self { burst, per_second, left: burst, refilled: Instant::now(), held_back: 0 }
    }

    pub fn admit(&mut self, now: Instant) -> Admitted {
        let since = now.saturating_duration_since(self.refilled);
        if since >= Duration::from_millis(100) {
            let back = (since.as_secs_f64() * f64::from(self.per_second)) as u32;
            self.left = self.left.saturating_add(back).min(self.burst);
            self.refilled = now;
        }
        if self.left == 0 {
            self.held_back += 1;
            return Admitted::No;
        }
        self.left -= 1;
        Admitted::Yes { held_back: std::mem::take(&mut self.held_back) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_limited_and_refilled_with_time() {
        let mut rate = LogLimiter::new(500, 200);
        let start = Instant::now();
        let admitted = |rate: &mut LogLimiter, now| (0..10_000).filter(|_| rate.admit(now) != Admitted::No).count();
        assert_eq!(admitted(&mut rate, start), 500);
        let second_later = start + Duration::from_secs(1);
        assert_eq!(rate.admit(second_later), Admitted::Yes { held_back: 9_500 });
        assert_eq!(admitted(&mut rate, second_later), 199);
    }
}
