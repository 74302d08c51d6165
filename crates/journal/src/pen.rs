//! Text to standard output or error, written by a thread of its own: whoever has something to say must not wait for who
//! does not read it. Where too much waits, lines are lost, and counted.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::Duration;

/// Lines that may wait.
const WAITING: usize = 10_000;

/// Clones write to the same place.
#[derive(Clone)]
pub struct Pen {
    lines: SyncSender<Stroke>,
    lost: Arc<AtomicU64>,
}

enum Stroke {
    Line(String),
    /// All before it is written.
    Mark(Sender<()>),
}

impl Pen {
    pub fn new(to: impl Write + Send + 'static) -> Self {
        let (lines, queue) = sync_channel(WAITING);
        let lost = Arc::<AtomicU64>::default();
        let missing = lost.clone();
        std::thread::spawn(move || write(to, &queue, &missing));
        Self { lines, lost }
    }

    /// Writes a line, which has its end already, as soon as that can be done.
    pub fn write(&self, line: String) {
        if let Err(TrySendError::Full(_)) = self.lines.try_send(Stroke::Line(line)) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns when all is written, or when `patience` is over.
    pub fn finish(&self, patience: Duration) {
        let (done, written) = channel();
        if self.lines.try_send(Stroke::Mark(done)).is_ok() {
            // Who does not read has had its time.
            let _ = written.recv_timeout(patience);
        }
    }
}

fn write(mut to: impl Write, queue: &Receiver<Stroke>, lost: &AtomicU64) {
    while let Ok(stroke) = queue.recv() {
        match stroke {
            // What cannot be written is no reason to stop.
            Stroke::Line(line) => {
                let _ = to.write_all(line.as_bytes());
            }
            Stroke::Mark(done) => {
                let _ = to.flush();
                let _ = done.send(());
            }
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ = writeln!(to, "({lost} lines were lost: nobody read them in time)");
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
    fn nobody_waits_for_who_does_not_read() {
        let (to, mut from) = UnixStream::pair().unwrap();
        let pen = Pen::new(to);
        let line = format!("{}\n", "x".repeat(999));
        for _ in 0..WAITING * 3 {
            pen.write(line.clone());
        }
        pen.finish(Duration::from_millis(1));
        // It is read now: what was kept comes, and so does how much was not.
        let reader = std::thread::spawn(move || -> io::Result<String> {
            let mut text = String::new();
            from.read_to_string(&mut text)?;
            Ok(text)
        });
        pen.finish(Duration::from_secs(60));
        drop(pen);
        let text = reader.join().unwrap().unwrap();
        let kept = text.lines().filter(|one| one.starts_with('x')).count() as u64;
        let lost: u64 =
            text.lines().filter_map(|one| one.strip_prefix('(')?.split(' ').next()?.parse::<u64>().ok()).sum();
        assert_eq!(kept + lost, WAITING as u64 * 3);
        assert!(lost > 0, "a socket does not hold that much");
    }
}
