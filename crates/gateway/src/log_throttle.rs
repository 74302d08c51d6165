//! Log lines of events that clients can cause as often as they like: one line each ten seconds, with the number of events.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Between two log lines about the same event.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub struct LogThrottle(Mutex<Logged>);

#[derive(Debug, Default)]
struct Logged {
    last: Option<Instant>,
    /// Events since the last log line.
    unlogged: u64,
}

impl LogThrottle {
    /// Counts an event. Returns the number of events since the last log line if this one is to be logged.
    pub fn record(&self, now: Instant) -> Option<u64> {
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        logged.unlogged += 1;
        if logged.last.is_some_and(|last| now.saturating_duration_since(last) < LOG_INTERVAL) {
            return None;
        }
        logged.last = Some(now);
        Some(std::mem::take(&mut logged.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_logged_once_an_interval() {
        let (throttle, start) = (LogThrottle::default(), Instant::now());
        assert_eq!(throttle.record(start), Some(1));
        assert!((0..1000).all(|_| throttle.record(start + LOG_INTERVAL / 2).is_none()));
        assert_eq!(throttle.record(start + LOG_INTERVAL), Some(1001));
    }
}
