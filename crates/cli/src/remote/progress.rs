//! A progress line on a terminal; nothing elsewhere. It is erased when the work is done.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use crate::terminal::size;

/// The line is redrawn at most this often.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct Progress {
    stage: Stage,
    drawn: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Standard error is no terminal.
    Off,
    Clear,
    Drawn,
}

// === impl Progress ===

impl Progress {
    pub(super) fn new() -> Self {
        Self { stage: if stderr().is_terminal() { Stage::Clear } else { Stage::Off }, drawn: None }
    }

    pub(super) fn show_upload(&mut self, sent: u64, length: u64) {
        self.show(|| uploading(sent, length));
    }

    /// Shows `text`, unless the line was drawn just now.
    pub(super) fn show(&mut self, text: impl FnOnce() -> String) {
        let is_time = self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW_INTERVAL);
        if self.stage == Stage::Off || !is_time {
            return;
        }
        // The work goes on if the terminal is gone.
        let _ = write!(stderr(), "\r\x1b[2K{}", text()).and_then(|()| stderr().flush());
        (self.stage, self.drawn) = (Stage::Drawn, Some(Instant::now()));
    }

    pub(super) fn clear(&mut self) {
        if self.stage == Stage::Drawn {
            let _ = write!(stderr(), "\r\x1b[2K").and_then(|()| stderr().flush());
            (self.stage, self.drawn) = (Stage::Clear, None);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn uploading(done: u64, length: u64) -> String {
    let percent = done.saturating_mul(100).checked_div(length).unwrap_or(100);
    format!("Uploading: {percent}% of {}", size(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_percentage() {
        assert_eq!(uploading(512, 1024), "Uploading: 50% of 1.0 kB");
        assert_eq!(uploading(0, 0), "Uploading: 100% of 0 B");
    }
}
