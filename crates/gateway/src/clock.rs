//! A clock that costs one atomic load: a ticker sets it once a second. Readings are up to a tick old, so a deadline made
//! from one allows a tick more.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

pub const TICK: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Clock {
    start: Instant,
    /// Milliseconds since `start`.
    elapsed: AtomicU64,
    /// Seconds since 1970.
    unix: AtomicU64,
}

impl Clock {
    pub fn new() -> Self {
        let clock = Self { start: Instant::now(), elapsed: AtomicU64::new(0), unix: AtomicU64::new(0) };
        clock.tick();
        clock
    }

    /// Keeps the clock going; never ends by itself.
    pub async fn run(&self) {
        loop {
            self.tick();
            tokio::time::sleep(TICK).await;
        }
    }

    /// Never later than now, and at most about a tick earlier.
    pub fn recent(&self) -> Instant {
        self.start + Duration::from_millis(self.elapsed.load(Relaxed))
    }

    pub fn unix(&self) -> u64 {
        self.unix.load(Relaxed)
    }

    fn tick(&self) {
        self.elapsed.store(self.start.elapsed().as_millis() as u64, Relaxed);
        // A system clock before 1970 is wrong, and counts as 1970.
        self.unix.store(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()), Relaxed);
    }
}
