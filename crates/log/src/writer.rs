//! Writes text to standard output or error on a thread of its own, so that a thread that logs never waits for a slow
//! reader. When the queue is full, lines are dropped and counted.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::Duration;

/// Lines that the queue holds.
const MAX_QUEUED_LINES: usize = 10_000;

/// Clones share one queue and one output.
#[derive(Clone)]
pub struct LogWriter {
    lines: SyncSender<WriterCommand>,
    lost: Arc<AtomicU64>,
}

enum WriterCommand {
    Line(String),
    /// Flushes all lines before it, then replies.
    Flush(Sender<()>),
}

impl LogWriter {
    pub fn new(to: impl Write + Send + 'static) -> Self {
        let (lines, queue) = sync_channel(MAX_QUEUED_LINES);
        let lost = Arc::<AtomicU64>::default();
        let missing = lost.clone();
        std::thread::spawn(move || write(to, &queue, &missing));
        Self { lines, lost }
    }

    /// Queues a line, which includes its line end.
    pub fn write(&self, line: String) {
        if let Err(TrySendError::Full(_)) = self.lines.try_send(WriterCommand::Line(line)) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns when all queued lines are written, or after `timeout`.
    pub fn finish(&self, timeout: Duration) {
        let (done, written) = channel();
        if self.lines.try_send(WriterCommand::Flush(done)).is_ok() {
            // After the timeout the remaining lines are given up.
            let _ = written.recv_timeout(timeout);
        }
    }
}

fn write(mut to: impl Write, queue: &Receiver<WriterCommand>, lost: &AtomicU64) {
    while let Ok(command) = queue.recv() {
        match command {
            // A failed write loses its line; later lines are still tried.
            WriterCommand::Line(line) => {
                let _ = to.write_all(line.as_bytes());
            }
            WriterCommand::Flush(done) => {
                let _ = to.flush();
                let _ = done.send(());
            }
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ = writeln!(to, "({lost} lines were lost: the output was not read in time)");
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{self, Read};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn writing_does_not_wait_for_the_reader() {
        let (to, mut from) = UnixStream::pair().unwrap();
        let writer = LogWriter::new(to);
        let line = format!("{}\n", "x".repeat(999));
        for _ in 0..MAX_QUEUED_LINES * 3 {
            writer.write(line.clone());
        }
        writer.finish(Duration::from_millis(1));
        // The reader starts now and receives the queued lines and the count of the dropped ones.
        let reader = std::thread::spawn(move || -> io::Result<String> {
            let mut text = String::new();
            from.read_to_string(&mut text)?;
            Ok(text)
        });
        writer.finish(Duration::from_secs(60));
        drop(writer);
        let text = reader.join().unwrap().unwrap();
        let kept = text.lines().filter(|one| one.starts_with('x')).count() as u64;
        let lost: u64 =
            text.lines().filter_map(|one| one.strip_prefix('(')?.split(' ').next()?.parse::<u64>().ok()).sum();
        assert_eq!(kept + lost, MAX_QUEUED_LINES as u64 * 3);
        assert!(lost > 0, "a socket does not hold that much");
    }
}
