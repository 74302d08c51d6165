//! The last lines that a cell wrote to standard error: V8's own words, where it aborted.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStderr;

/// Lines that are kept for a crash report.
const LAST_WORDS: usize = 40;
/// No line of it is longer, however long it was.
const LONGEST_LINE: usize = 2_000;

/// Clones are the same.
#[derive(Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<VecDeque<String>>>);

impl LastWords {
    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    pub(super) async fn listen(self, stderr: ChildStderr) {
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        while let Ok(true) = next_line(&mut stderr, &mut line).await {
            let line = String::from_utf8_lossy(&line).into_owned();
            tracing::warn!(target: "hearth::cell", "{line}");
            let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if words.len() == LAST_WORDS {
                words.pop_front();
            }
            words.push_back(line);
        }
    }
}

/// The next line, cut where it is too long. `false` at the end.
async fn next_line(from: &mut BufReader<ChildStderr>, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    loop {
        let there = from.fill_buf().await?;
        if there.is_empty() {
            return Ok(!line.is_empty());
        }
        let end = there.iter().position(|byte| *byte == b'\n');
        let piece = &there[..end.unwrap_or(there.len())];
        line.extend_from_slice(&piece[..piece.len().min(LONGEST_LINE - line.len())]);
        let taken = end.map_or(there.len(), |end| end + 1);
        from.consume(taken);
        if end.is_some() {
            return Ok(true);
        }
    }
}
