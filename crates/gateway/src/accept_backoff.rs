//! The pause after a failed `accept`. The system has no more descriptors or memory then, and the connection stays in the
//! kernel's queue: an accept loop without a pause would use a whole core and log without bound.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::log_throttle::LogThrottle;

/// After the first failure; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// Bounds how long clients wait after descriptors are free again.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The state of one accept loop.
#[derive(Debug, Default)]
pub struct AcceptBackoff {
    failures: u32,
}

impl AcceptBackoff {
    /// A connection was accepted.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// Waits before the next `accept`, unless it was the connection alone that failed. All loops of a server log through
    /// the same `log`.
    pub async fn wait(&mut self, error: &io::Error, log: &LogThrottle) {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted) {
            return;
        }
        if let Some(times) = log.record(Instant::now()) {
            tracing::warn!(%error, times, "accept failed");
        }
        sleep(self.next_pause()).await;
    }

    fn next_pause(&mut self) -> Duration {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(16));
        self.failures = self.failures.saturating_add(1);
        pause.min(LONGEST_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew_after_a_success() {
        let mut backoff = AcceptBackoff::default();
        let pauses: Vec<Duration> = (0..9).map(|_| backoff.next_pause()).collect();
        assert_eq!(pauses[..3], [10, 20, 40].map(Duration::from_millis));
        assert_eq!(pauses[7..], [LONGEST_PAUSE; 2]);
        assert!((0..100).all(|_| backoff.next_pause() == LONGEST_PAUSE));
        backoff.reset();
        assert_eq!(backoff.next_pause(), FIRST_PAUSE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_without_descriptors_tries_about_once_a_second() {
        let (mut backoff, log) = (AcceptBackoff::default(), LogThrottle::default());
        let (start, error) = (Instant::now(), io::Error::from_raw_os_error(24));
        let mut tries = 0;
        while start.elapsed() < Duration::from_secs(60) {
            backoff.wait(&error, &log).await;
            tries += 1;
        }
        assert!(tries < 70, "{tries} tries in a minute");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_was_reset_costs_no_pause() {
        let (mut backoff, log, start) = (AcceptBackoff::default(), LogThrottle::default(), Instant::now());
        backoff.wait(&io::ErrorKind::ConnectionReset.into(), &log).await;
        assert_eq!((start.elapsed(), backoff.failures), (Duration::ZERO, 0));
    }
}
