//! Where all lines of the log come together, control's own and the cells': written to standard error, kept for who asks
//! later, and given to who follows.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hearth_log::{Colours, Format, LogRecord, LogWriter, Ring};
use tokio::sync::broadcast;

/// Lines that are kept, in all and of each app.
const KEPT: usize = 10_000;
const KEPT_PER_APP: usize = 1_000;
/// Lines that a slow follower may be behind before it misses some.
const BEHIND: usize = 1_024;

/// For what is still to be written at the end.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Clones are the same journal.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
}

struct Shared {
    format: Format,
    colours: Colours,
    errors: LogWriter,
    output: LogWriter,
    ring: Ring,
    followers: broadcast::Sender<Arc<LogRecord>>,
    /// Held while a line is kept and given away, so that who begins to follow misses none and gets none twice.
    keeping: Mutex<()>,
}

impl Journal {
    pub fn new(format: Format, colours: Colours) -> Self {
        let ring = Ring::new(KEPT, KEPT_PER_APP);
        let followers = broadcast::Sender::new(BEHIND);
        let (errors, output) = (LogWriter::new(std::io::stderr()), LogWriter::new(std::io::stdout()));
        let keeping = Mutex::default();
        Self { shared: Arc::new(Shared { format, colours, errors, output, ring, followers, keeping }) }
    }

    pub fn write(&self, line: LogRecord) {
        let Shared { format, colours, errors, ring, followers, keeping, .. } = &*self.shared;
        errors.write(format.write(&line, *colours));
        let _one = keeping.lock().unwrap_or_else(PoisonError::into_inner);
        if followers.receiver_count() > 0 {
            // Who went away in this moment misses nothing.
            let _ = followers.send(Arc::new(line.clone()));
        }
        ring.push(line);
    }

    /// A line of the access log, which goes to standard output and is not kept.
    pub fn access(&self, line: &str) {
        self.shared.output.write(format!("{line}\n"));
    }

    /// Returns when all is written, or when nobody has read it for a while.
    pub fn finish(&self) {
        self.shared.output.finish(LAST_LINES);
        self.shared.errors.finish(LAST_LINES);
    }

    /// The last lines that `wanted` lets through.
    pub fn last(&self, most: usize, wanted: impl Fn(&LogRecord) -> bool) -> Vec<LogRecord> {
        self.shared.ring.since(0, most, wanted).into_iter().map(|(_, line)| line).collect()
    }

    /// The same, and all lines from then on.
    pub fn follow(
        &self,
        most: usize,
        wanted: impl Fn(&LogRecord) -> bool,
    ) -> (Vec<LogRecord>, broadcast::Receiver<Arc<LogRecord>>) {
        let _one = self.shared.keeping.lock().unwrap_or_else(PoisonError::into_inner);
        (self.last(most, wanted), self.shared.followers.subscribe())
    }
}
