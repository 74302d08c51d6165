//! Collects the log lines of control and of all cells: writes them to stderr, keeps the last ones, and sends them to
//! followers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hearth_log::{Colours, Format, LogRecord, LogWriter, Ring};
use tokio::sync::broadcast;

/// Lines that are kept, in all and of each app.
const MAX_LINES: usize = 10_000;
const MAX_LINES_PER_APP: usize = 1_000;
/// Lines that a slow follower may be behind before it misses some.
const MAX_LAG: usize = 1_024;

/// Time for the last lines to be written at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Clones share the store.
#[derive(Clone)]
pub struct LogStore {
    shared: Arc<Shared>,
}

struct Shared {
    format: Format,
    colours: Colours,
    errors: LogWriter,
    output: LogWriter,
    ring: Ring,
    followers: broadcast::Sender<Arc<LogRecord>>,
    /// Held while a line is stored and sent, so that a new follower neither misses a line nor gets one twice.
    append_lock: Mutex<()>,
}

impl LogStore {
    pub fn new(format: Format, colours: Colours) -> Self {
        let ring = Ring::new(MAX_LINES, MAX_LINES_PER_APP);
        let followers = broadcast::Sender::new(MAX_LAG);
        let (errors, output) = (LogWriter::new(std::io::stderr()), LogWriter::new(std::io::stdout()));
        let append_lock = Mutex::default();
        Self { shared: Arc::new(Shared { format, colours, errors, output, ring, followers, append_lock }) }
    }

    pub fn write(&self, line: LogRecord) {
        let Shared { format, colours, errors, ring, followers, append_lock, .. } = &*self.shared;
        errors.write(format.write(&line, *colours));
        let _one = append_lock.lock().unwrap_or_else(PoisonError::into_inner);
        if followers.receiver_count() > 0 {
            // The last follower may have left meanwhile.
            let _ = followers.send(Arc::new(line.clone()));
        }
        ring.push(line);
    }

    /// A line of the access log, which goes to standard output and is not kept.
    pub fn access(&self, line: &str) {
        self.shared.output.write(format!("{line}\n"));
    }

    /// Returns when all lines are written, or after a timeout if the reader of the output does not read.
    pub fn finish(&self) {
        self.shared.output.finish(FLUSH_TIMEOUT);
        self.shared.errors.finish(FLUSH_TIMEOUT);
    }

    /// The last `max` lines that `filter` accepts.
    pub fn last(&self, max: usize, filter: impl Fn(&LogRecord) -> bool) -> Vec<LogRecord> {
        self.shared.ring.since(0, max, filter).into_iter().map(|(_, line)| line).collect()
    }

    /// The same, and a receiver of all later lines, unfiltered.
    pub fn follow(
        &self,
        max: usize,
        filter: impl Fn(&LogRecord) -> bool,
    ) -> (Vec<LogRecord>, broadcast::Receiver<Arc<LogRecord>>) {
        let _one = self.shared.append_lock.lock().unwrap_or_else(PoisonError::into_inner);
        (self.last(max, filter), self.shared.followers.subscribe())
    }
}
