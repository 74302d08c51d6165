//! One exec while it runs: what it may print, until when, and what is already known of its end.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hearth_agent::{Answer, CHUNK, CallId, End, Stdin, Stream};

/// Longer deadlines are as good as none, and would overflow the clock.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(10 * 365 * 86_400);

pub struct Run {
    pub id: CallId,
    pub started: Instant,
    pub deadline: Instant,
    /// When a program that was interrupted is killed.
    pub kill_at: Option<Instant>,
    cuts: [Cut; 2],
    pub timed_out: bool,
    pub stdin: Input,
    /// Where its source lies; removed with it.
    pub source: Option<PathBuf>,
}

/// What of a stream is passed on: its beginning at once, its end when the run is over.
struct Cut {
    /// Bytes that may still be passed on at once.
    head: u64,
    tail: VecDeque<u8>,
    tail_limit: usize,
    omitted: u64,
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
            kill_at: None,
            cuts: [Cut::new(output_limit), Cut::new(output_limit)],
            timed_out: false,
            stdin: Input::default(),
            source: None,
        }
    }

    /// What of these bytes is passed on at once. The rest is kept for the end of the run, as far as there is room.
    pub fn pass<'a>(&mut self, stream: Stream, bytes: &'a [u8]) -> &'a [u8] {
        match stream {
            Stream::Stdout => self.cuts[0].pass(bytes),
            Stream::Stderr => self.cuts[1].pass(bytes),
        }
    }

    /// What is said at its end: the ends of its streams, then how it ended.
    pub fn exit(&mut self, end: End) -> Vec<Answer> {
        let truncated = self.cuts.iter().any(|cut| cut.omitted > 0);
        let mut words = Vec::new();
        for (stream, cut) in [Stream::Stdout, Stream::Stderr].into_iter().zip(&mut self.cuts) {
            if cut.omitted > 0 {
                words.push(Answer::Omitted { id: self.id, stream, bytes: cut.omitted });
            }
            let tail: Vec<u8> = std::mem::take(&mut cut.tail).into();
            words.extend(tail.chunks(CHUNK).map(|piece| Answer::Output {
                id: self.id,
                stream,
                bytes: piece.to_vec().into(),
            }));
        }
        let (timed_out, duration) = (self.timed_out, self.started.elapsed());
        words.push(Answer::Exit { id: self.id, end, timed_out, truncated, duration });
        words
    }
}

// === impl Cut ===

impl Cut {
    fn new(limit: u64) -> Self {
        let tail_limit = usize::try_from(limit / 2).unwrap_or(usize::MAX);
        Self { head: limit - limit / 2, tail: VecDeque::new(), tail_limit, omitted: 0 }
    }

    fn pass<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client gets of these bytes, written piece by piece, and how many it is told were left out.
    fn seen(limit: u64, written: &[u8], piece: usize) -> (Vec<u8>, u64) {
        let mut run = Run::new(CallId(1), Duration::from_secs(1), limit);
        let (mut seen, mut omitted) = (Vec::new(), 0);
        for piece in written.chunks(piece) {
            seen.extend_from_slice(run.pass(Stream::Stdout, piece));
        }
        for word in run.exit(End::Code { code: 0 }) {
            match word {
                Answer::Omitted { bytes, .. } => omitted += bytes,
                Answer::Output { bytes, .. } => seen.extend(bytes.0),
                Answer::Exit { truncated, .. } => assert_eq!(truncated, omitted > 0),
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
