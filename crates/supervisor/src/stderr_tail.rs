//! The last lines that a cell wrote to stderr, for crash reports: V8 writes the reason of an abort there.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStderr;

/// Lines that are kept.
const MAX_LINES: usize = 40;
/// Longer lines are cut.
const MAX_LINE_BYTES: usize = 2_000;

/// Clones share the lines.
#[derive(Clone, Default)]
pub(super) struct StderrTail(Arc<Mutex<VecDeque<String>>>);

impl StderrTail {
    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Reads and logs stderr to its end.
    pub(super) async fn read(self, stderr: ChildStderr) {
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        while let Ok(true) = next_line(&mut stderr, &mut line).await {
            let line = String::from_utf8_lossy(&line).into_owned();
            tracing::warn!(target: "hearth::cell", "{line}");
            let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if lines.len() == MAX_LINES {
                lines.pop_front();
            }
            lines.push_back(line);
        }
    }
}

/// Reads the next line, cut to the maximum. `false` at the end.
async fn next_line(from: &mut BufReader<ChildStderr>, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    loop {
        let buffer = from.fill_buf().await?;
        if buffer.is_empty() {
            return Ok(!line.is_empty());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        line.extend_from_slice(&piece[..piece.len().min(MAX_LINE_BYTES - line.len())]);
        let taken = end.map_or(buffer.len(), |end| end + 1);
        from.consume(taken);
        if end.is_some() {
            return Ok(true);
        }
    }
}
