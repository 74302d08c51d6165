//! One exec while it runs: what it may print, until when, and what is already known of its end.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hearth_agent::{Answer, CallId, End, Stdin, Stream};

/// Longer deadlines are as good as none, and would overflow the clock.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(10 * 365 * 86_400);

pub struct Run {
    pub id: CallId,
    pub started: Instant,
    pub deadline: Instant,
    /// Bytes that each stream may still print.
    left: [u64; 2],
    pub timed_out: bool,
    pub truncated: bool,
    pub stdin: Input,
    /// Where its source lies; removed with it.
    pub source: Option<PathBuf>,
}

/// What a program is still to be given, if it reads at all.
#[derive(Default)]
pub struct Input {
    pub waiting: VecDeque<u8>,
    /// Nothing comes after what waits.
    pub closed: bool,
    /// So many of the first bytes did not come by `Request::Stdin`, and are not told of.
    silent: usize,
}

impl Run {
    pub fn new(id: CallId, timeout: Duration, output_limit: u64) -> Self {
        let started = Instant::now();
        Self {
            id,
            started,
            deadline: started + timeout.min(LONGEST_TIMEOUT),
            left: [output_limit; 2],
            timed_out: false,
            truncated: false,
            stdin: Input::default(),
            source: None,
        }
    }

    /// How much of `count` bytes may be passed on.
    pub fn allow(&mut self, stream: Stream, count: usize) -> usize {
        let left = match stream {
            Stream::Stdout => &mut self.left[0],
            Stream::Stderr => &mut self.left[1],
        };
        let allowed = usize::try_from(*left).map_or(count, |left| left.min(count));
        *left -= allowed as u64;
        if allowed < count {
            self.truncated = true;
        }
        allowed
    }

    pub fn exit(&self, end: End) -> Answer {
        Answer::Exit {
            id: self.id,
            end,
            timed_out: self.timed_out,
            truncated: self.truncated,
            duration: self.started.elapsed(),
        }
    }
}

// === impl Input ===

impl Input {
    /// `head` goes before what the client gives.
    pub fn begin(&mut self, stdin: Stdin, head: &[u8]) {
        self.waiting.extend(head);
        match stdin {
            Stdin::Empty {} => self.closed = true,
            Stdin::Bytes { bytes } => {
                self.waiting.extend(bytes.0);
                self.closed = true;
            }
            Stdin::Open {} => {}
        }
        self.silent = self.waiting.len();
    }

    /// How many of `taken` bytes the client is to be told of.
    pub fn told(&mut self, taken: usize) -> usize {
        let silent = taken.min(self.silent);
        self.silent -= silent;
        taken - silent
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(folder) = &self.source {
            // The program may have removed it.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
