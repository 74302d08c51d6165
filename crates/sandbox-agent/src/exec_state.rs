//! The state of a running exec: how much it may print, its deadline, its input.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hearth_sandbox_agent::{AgentCallId, AgentReply, CHUNK, End, OutputStream, Stdin};

/// Longer timeouts are as good as none, and would overflow the clock.
const MAX_TIMEOUT: Duration = Duration::from_secs(10 * 365 * 86_400);

pub struct ExecState {
    pub id: AgentCallId,
    pub started: Instant,
    pub deadline: Instant,
    /// When an interrupted program is killed.
    pub kill_at: Option<Instant>,
    limiters: [OutputLimiter; 2],
    pub timed_out: bool,
    pub stdin: StdinQueue,
    /// Folder of its source; removed with it.
    pub source: Option<PathBuf>,
}

/// What is passed on of a stream: its beginning at once, its end when the exec ends.
struct OutputLimiter {
    /// Bytes that may still be passed on at once.
    head: u64,
    tail: VecDeque<u8>,
    tail_limit: usize,
    omitted: u64,
}

/// Input that waits for a program.
#[derive(Default)]
pub struct StdinQueue {
    pub waiting: VecDeque<u8>,
    /// Nothing follows what waits.
    pub closed: bool,
    /// So many of the first bytes did not come by `Request::Stdin`, and are not acknowledged.
    uncounted: usize,
}

impl ExecState {
    pub fn new(id: AgentCallId, timeout: Duration, output_limit: u64) -> Self {
        let started = Instant::now();
        Self {
            id,
            started,
            deadline: started + timeout.min(MAX_TIMEOUT),
            kill_at: None,
            limiters: [OutputLimiter::new(output_limit), OutputLimiter::new(output_limit)],
            timed_out: false,
            stdin: StdinQueue::default(),
            source: None,
        }
    }

    /// The part of these bytes that is passed on at once. The rest is kept for the end, as far as
    /// there is room.
    pub fn take_head<'a>(&mut self, stream: OutputStream, bytes: &'a [u8]) -> &'a [u8] {
        match stream {
            OutputStream::Stdout => self.limiters[0].take_head(bytes),
            OutputStream::Stderr => self.limiters[1].take_head(bytes),
        }
    }

    /// The replies at its end: the ends of its streams, then how it ended.
    pub fn exit(&mut self, end: End) -> Vec<AgentReply> {
        let truncated = self.limiters.iter().any(|limiter| limiter.omitted > 0);
        let mut words = Vec::new();
        for (stream, limiter) in [OutputStream::Stdout, OutputStream::Stderr].into_iter().zip(&mut self.limiters) {
            if limiter.omitted > 0 {
                words.push(AgentReply::Omitted { id: self.id, stream, bytes: limiter.omitted });
            }
            let tail: Vec<u8> = std::mem::take(&mut limiter.tail).into();
            words.extend(tail.chunks(CHUNK).map(|piece| AgentReply::Output {
                id: self.id,
                stream,
                bytes: piece.to_vec().into(),
            }));
        }
        let (timed_out, duration) = (self.timed_out, self.started.elapsed());
        words.push(AgentReply::Exit { id: self.id, end, timed_out, truncated, duration });
        words
    }
}

// === impl OutputLimiter ===

impl OutputLimiter {
    fn new(limit: u64) -> Self {
        let tail_limit = usize::try_from(limit / 2).unwrap_or(usize::MAX);
        Self { head: limit - limit / 2, tail: VecDeque::new(), tail_limit, omitted: 0 }
    }

    fn take_head<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let now = usize::try_from(self.head).map_or(bytes.len(), |head| head.min(bytes.len()));
        self.head -= now as u64;
        let (now, later) = bytes.split_at(now);
        // Of more than there is room for, only the last can stay.
        let skipped = later.len().saturating_sub(self.tail_limit);
        self.tail.extend(&later[skipped..]);
        let surplus = self.tail.len().saturating_sub(self.tail_limit);
        self.tail.drain(..surplus);
        self.omitted += (skipped + surplus) as u64;
        now
    }
}

// === impl StdinQueue ===

impl StdinQueue {
    /// `head` goes before the client's input.
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
        self.uncounted = self.waiting.len();
    }

    /// How many of `taken` bytes are acknowledged to the client.
    pub fn acknowledge(&mut self, taken: usize) -> usize {
        let uncounted = taken.min(self.uncounted);
        self.uncounted -= uncounted;
        taken - uncounted
    }
}

impl Drop for ExecState {
    fn drop(&mut self) {
        if let Some(folder) = &self.source {
            // The program may have removed it.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client gets of these bytes, written in pieces, and how many are reported as left out.
    fn seen(limit: u64, written: &[u8], piece: usize) -> (Vec<u8>, u64) {
        let mut run = ExecState::new(AgentCallId(1), Duration::from_secs(1), limit);
        let (mut seen, mut omitted) = (Vec::new(), 0);
        for piece in written.chunks(piece) {
            seen.extend_from_slice(run.take_head(OutputStream::Stdout, piece));
        }
        for word in run.exit(End::Code { code: 0 }) {
            match word {
                AgentReply::Omitted { bytes, .. } => omitted += bytes,
                AgentReply::Output { bytes, .. } => seen.extend(bytes.0),
                AgentReply::Exit { truncated, .. } => assert_eq!(truncated, omitted > 0),
                other => panic!("{other:?}"),
            }
        }
        (seen, omitted)
    }

    #[test]
    fn head_and_tail_are_kept_and_the_rest_is_counted() {
        let written: Vec<u8> = (0..100).collect();
        for piece in [1, 3, 7, 100] {
            assert_eq!(seen(100, &written, piece), (written.clone(), 0), "{piece}");
            let (kept, omitted) = seen(11, &written, piece);
            assert_eq!((kept, omitted), ([&written[..6], &written[95..]].concat(), 89), "{piece}");
            assert_eq!(seen(1, &written, piece), (vec![0], 99), "{piece}");
        }
    }
}
