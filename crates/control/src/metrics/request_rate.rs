//! Requests per second over the last seconds, from samples of the total.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time over which the rate is averaged.
const WINDOW: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct RequestRate {
    samples: Mutex<VecDeque<(Instant, u64)>>,
}

impl RequestRate {
    pub(crate) fn record(&self, now: Instant, requests: u64) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.push_back((now, requests));
        while samples.len() > 2 && now.duration_since(samples[1].0) >= WINDOW {
            samples.pop_front();
        }
    }

    pub(crate) fn per_second(&self) -> f64 {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some((from, before)), Some((to, after))) = (samples.front(), samples.back()) else { return 0.0 };
        let seconds = to.duration_since(*from).as_secs_f64();
        if seconds == 0.0 { 0.0 } else { after.saturating_sub(*before) as f64 / seconds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let rate = RequestRate::default();
        assert_eq!(rate.per_second(), 0.0);
        let start = Instant::now();
        for second in 0..100 {
            // A hundred a second, then none.
            rate.record(start + Duration::from_secs(second), second.min(50) * 100);
        }
        assert_eq!(rate.per_second(), 0.0);
        rate.record(start + Duration::from_secs(100), 6_000);
        assert_eq!(rate.per_second(), 100.0);
    }
}
