//! Where an app's console goes: the log, at a bounded rate. An app can write as fast as it runs; the log, and whoever
//! reads it, must not suffer for that.

use std::time::{Duration, Instant};

use hearth_core::{AppName, RequestId};

/// Lines that may come at once, and how many a second come back.
const BURST: u32 = 500;
const PER_SECOND: u32 = 200;

pub(crate) struct Console {
    app: AppName,
    left: u32,
    refilled: Instant,
    dropped: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

impl Console {
    pub(crate) fn new(app: AppName) -> Self {
        Self { app, left: BURST, refilled: Instant::now(), dropped: 0 }
    }

    pub(crate) fn write(&mut self, request: RequestId, level: Level, message: &str) {
        if !self.admit(Instant::now()) {
            self.dropped += 1;
            return;
        }
        let (app, request) = (self.app.as_str(), request.raw());
        if self.dropped > 0 {
            tracing::info!(target: "hearth::console", app, request, dropped = self.dropped, "Console lines were dropped");
            self.dropped = 0;
        }
        match level {
            Level::Debug => tracing::debug!(target: "hearth::console", app, request, "{message}"),
            Level::Info => tracing::info!(target: "hearth::console", app, request, "{message}"),
            Level::Warn => tracing::warn!(target: "hearth::console", app, request, "{message}"),
            Level::Error => tracing::error!(target: "hearth::console", app, request, "{message}"),
        }
    }

    fn admit(&mut self, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.refilled);
        if since >= Duration::from_millis(100) {
            let back = (since.as_secs_f64() * f64::from(PER_SECOND)) as u32;
            self.left = self.left.saturating_add(back).min(BURST);
            self.refilled = now;
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_cut_and_comes_back_with_time() {
        let mut console = Console::new(AppName::new("flood"));
        let start = Instant::now();
        let admitted = (0..10_000).filter(|_| console.admit(start)).count();
        assert_eq!(admitted, BURST as usize);
        let second_later = start + Duration::from_secs(1);
        let admitted = (0..10_000).filter(|_| console.admit(second_later)).count();
        assert_eq!(admitted, PER_SECOND as usize);
    }
}
