//! Messages from the cell to control, written by a thread of its own, so that threads that serve requests never wait for the
//! socket. Log lines may be lost when control is slow; lost lines are counted. All other messages are kept until they are sent.

use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use hearth_ipc::{CellMessage, FrameError, frame};

/// Beyond so many waiting messages, those that may be lost are dropped.
const MAX_WAITING: usize = 10_000;

/// Clones are the same writer.
#[derive(Clone)]
pub(crate) struct ControlWriter {
    messages: Sender<CellMessage>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    waiting: AtomicUsize,
    lost: AtomicU64,
    sent: Mutex<()>,
    all_sent: Condvar,
}

impl ControlWriter {
    pub(super) fn start(socket: UnixStream) -> Self {
        let (messages, queue) = channel();
        let shared = Arc::<Shared>::default();
        let writer = shared.clone();
        std::thread::spawn(move || write(socket, &queue, &writer));
        Self { messages, shared }
    }

    /// Sends a message that must not be lost.
    pub(crate) fn send(&self, message: CellMessage) {
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        // If control is gone, the process exits.
        let _ = self.messages.send(message);
    }

    /// Sends a message that may be lost.
    pub(crate) fn try_send(&self, message: CellMessage) {
        if self.shared.waiting.load(Ordering::Relaxed) >= MAX_WAITING {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.send(message);
    }

    /// Blocks until all messages are written.
    pub(super) fn flush(&self) {
        let mut sent = self.shared.sent.lock().unwrap_or_else(PoisonError::into_inner);
        while self.shared.waiting.load(Ordering::Relaxed) > 0 {
            sent = self.shared.all_sent.wait(sent).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn write(mut socket: UnixStream, queue: &Receiver<CellMessage>, shared: &Shared) {
    let mut broken = false;
    while let Ok(message) = queue.recv() {
        // A message that cannot be written is counted as sent all the same: `flush` waits for the number.
        if !broken {
            match frame::write(&mut socket, &message) {
                Ok(()) => {}
                Err(FrameError::Io(_)) => broken = true,
                // The socket is still usable for the next message.
                Err(error) => tracing::error!(%error, "message to control not written"),
            }
        }
        let sent = shared.sent.lock().unwrap_or_else(PoisonError::into_inner);
        shared.waiting.fetch_sub(1, Ordering::Relaxed);
        drop(sent);
        shared.all_sent.notify_all();
        let lost = shared.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            tracing::warn!(lost, "log lines lost: control is too slow");
        }
    }
}
