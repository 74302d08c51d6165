//! Exponential backoff for operations that keep failing: the delay doubles with each failure, up to a maximum, and is reset
//! by a success. Concurrent attempts fail for the same cause, so they count as one: an attempt remembers the round in which
//! it began, and only the first failure of a round makes the delay longer.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffConfig {
    /// The delay after the first failure.
    pub initial: Duration,
    /// No delay is longer.
    pub max: Duration,
}

pub(crate) struct Backoff {
    config: BackoffConfig,
    /// The last delay; `None` when the last attempt succeeded.
    delay: Option<Duration>,
    round: Round,
}

/// The period between two failures that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round(u64);

impl Backoff {
    pub(crate) fn new(config: BackoffConfig) -> Self {
        Self { config, delay: None, round: Round(0) }
    }

    pub(crate) fn round(&self) -> Round {
        self.round
    }

    /// An attempt of `round` failed. Returns how long to wait from now, or `None` if a failure of that round was counted.
    pub(crate) fn failed(&mut self, round: Round) -> Option<Duration> {
        if round != self.round {
            return None;
        }
        let delay = match self.delay {
            None => self.config.initial,
            Some(last) => last.saturating_mul(2),
        };
        let delay = delay.min(self.config.max);
        self.delay = Some(delay);
        self.round = Round(self.round.0 + 1);
        Some(delay)
    }

    pub(crate) fn succeeded(&mut self) {
        self.delay = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: BackoffConfig = BackoffConfig { initial: Duration::from_secs(1), max: Duration::from_secs(5) };

    fn next(backoff: &mut Backoff) -> Option<u64> {
        let round = backoff.round();
        backoff.failed(round).map(|delay| delay.as_secs())
    }

    #[test]
    fn delays_double_up_to_the_maximum_and_a_success_resets_them() {
        let mut backoff = Backoff::new(CONFIG);
        let delays: Vec<_> = (0..5).map(|_| next(&mut backoff)).collect();
        assert_eq!(delays, [Some(1), Some(2), Some(4), Some(5), Some(5)]);
        backoff.succeeded();
        assert_eq!(next(&mut backoff), Some(1));
    }

    #[test]
    fn concurrent_attempts_count_as_one_failure() {
        let mut backoff = Backoff::new(CONFIG);
        let round = backoff.round();
        assert_eq!(backoff.failed(round), Some(Duration::from_secs(1)));
        assert_eq!(backoff.failed(round), None);
        assert_eq!(next(&mut backoff), Some(2));
    }
}
