//! Where an app's console goes: the log, at a bounded rate. An app can write as fast as it runs; the log, and whoever
//! reads it, must not suffer for that.

use std::time::Instant;

use hearth_core::rate::{Admitted, RateLimit};
use hearth_core::{AppName, RequestId};

/// Lines that may come at once, and how many a second come back.
const BURST: u32 = 500;
const PER_SECOND: u32 = 200;

pub(crate) struct Console {
    app: AppName,
    rate: RateLimit,
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
        Self { app, rate: RateLimit::new(BURST, PER_SECOND) }
    }

    pub(crate) fn write(&mut self, request: RequestId, level: Level, message: &str) {
        let Admitted::Yes { held_back } = self.rate.admit(Instant::now()) else { return };
        let (app, request) = (self.app.as_str(), request.raw());
        if held_back > 0 {
            tracing::info!(target: "hearth::console", app, request, held_back, "Console lines were dropped");
        }
        match level {
            Level::Debug => tracing::debug!(target: "hearth::console", app, request, "{message}"),
            Level::Info => tracing::info!(target: "hearth::console", app, request, "{message}"),
            Level::Warn => tracing::warn!(target: "hearth::console", app, request, "{message}"),
            Level::Error => tracing::error!(target: "hearth::console", app, request, "{message}"),
        }
    }
}
