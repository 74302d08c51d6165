//! A line that says how far something is, on a terminal; nothing anywhere else. It is gone when the work is done.

use std::io::{IsTerminal, Read, Write, stderr};
use std::time::{Duration, Instant};

use crate::terminal::size;

/// Often enough to look alive.
const PERIOD: Duration = Duration::from_millis(100);

pub(super) struct Progress {
    stage: Stage,
    drawn: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nobody looks.
    Off,
    Clear,
    Drawn,
}

/// A reader that tells how much was read of it.
pub(super) struct Counted<'a, R> {
    pub(super) input: R,
    pub(super) read: u64,
    pub(super) length: u64,
    pub(super) progress: &'a mut Progress,
}

// === impl Progress ===

impl Progress {
    pub(super) fn new() -> Self {
        Self { stage: if stderr().is_terminal() { Stage::Clear } else { Stage::Off }, drawn: None }
    }

    /// Shows `text`, unless something was shown a moment ago.
    pub(super) fn show(&mut self, text: impl FnOnce() -> String) {
        let is_time = self.drawn.is_none_or(|drawn| drawn.elapsed() >= PERIOD);
        if self.stage == Stage::Off || !is_time {
            return;
        }
        // A terminal that is gone shows nothing, which is no reason to stop.
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

// === impl Counted ===

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.read += read as u64;
        let (done, length) = (self.read, self.length);
        self.progress.show(|| uploading(done, length));
        Ok(read)
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
