//! How long to leave something alone that keeps failing: twice as long each time, up to a most, and not at all again after
//! a success. Attempts that ran side by side fail for the same cause, so they count as one: an attempt says in which round
//! it began, and only the first failure of a round makes the wait longer.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffRules {
    /// The wait after the first failure.
    pub first: Duration,
    /// No wait is longer.
    pub most: Duration,
}

pub(crate) struct Backoff {
    rules: BackoffRules,
    /// The last wait; `None` when the last attempt succeeded.
    wait: Option<Duration>,
    round: Round,
}

/// What lies between two failures that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round(u64);

impl Backoff {
    pub(crate) fn new(rules: BackoffRules) -> Self {
        Self { rules, wait: None, round: Round(0) }
    }

    pub(crate) fn round(&self) -> Round {
        self.round
    }

    /// An attempt of `round` failed: how long to wait from now, or nothing when that round's failure is known already.
    pub(crate) fn failed(&mut self, round: Round) -> Option<Duration> {
        if round != self.round {
            return None;
        }
        let wait = match self.wait {
            None => self.rules.first,
            Some(last) => last.saturating_mul(2),
        };
        let wait = wait.min(self.rules.most);
        self.wait = Some(wait);
        self.round = Round(self.round.0 + 1);
        Some(wait)
    }

    pub(crate) fn succeeded(&mut self) {
        self.wait = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: BackoffRules = BackoffRules { first: Duration::from_secs(1), most: Duration::from_secs(5) };

    fn next(backoff: &mut Backoff) -> Option<u64> {
        let round = backoff.round();
        backoff.failed(round).map(|wait| wait.as_secs())
    }

    #[test]
    fn waits_double_up_to_a_most_and_start_anew_after_a_success() {
        let mut backoff = Backoff::new(RULES);
        let waits: Vec<_> = (0..5).map(|_| next(&mut backoff)).collect();
        assert_eq!(waits, [Some(1), Some(2), Some(4), Some(5), Some(5)]);
        backoff.succeeded();
        assert_eq!(next(&mut backoff), Some(1));
    }

    #[test]
    fn attempts_that_ran_side_by_side_fail_once() {
        let mut backoff = Backoff::new(RULES);
        let round = backoff.round();
        assert_eq!(backoff.failed(round), Some(Duration::from_secs(1)));
        assert_eq!(backoff.failed(round), None);
        assert_eq!(next(&mut backoff), Some(2));
    }
}
