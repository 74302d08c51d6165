//! What the cell says to control, written by a thread of its own, so that nobody who serves requests waits for a socket.
//! Lines of the log may be lost when control is slow: they are counted. Everything else is kept until it is sent.

use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use hearth_ipc::{CellMessage, FrameError, frame};

/// Messages that may wait before those that can be lost are.
const WAITING: usize = 10_000;

/// Clones are the same outbox.
#[derive(Clone)]
pub(crate) struct Outbox {
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

impl Outbox {
    pub(super) fn start(socket: UnixStream) -> Self {
        let (messages, queue) = channel();
        let shared = Arc::<Shared>::default();
        let writer = shared.clone();
        std::thread::spawn(move || write(socket, &queue, &writer));
        Self { messages, shared }
    }

    /// Says something that must be heard.
    pub(crate) fn send(&self, message: CellMessage) {
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        // A control that is gone takes the whole process with it.
        let _ = self.messages.send(message);
    }

    /// Says something that may be lost.
    pub(crate) fn offer(&self, message: CellMessage) {
        if self.shared.waiting.load(Ordering::Relaxed) >= WAITING {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.send(message);
    }

    /// Returns when all that was said is on its way.
    pub(super) fn finish(&self) {
        let mut sent = self.shared.sent.lock().unwrap_or_else(PoisonError::into_inner);
        while self.shared.waiting.load(Ordering::Relaxed) > 0 {
            sent = self.shared.all_sent.wait(sent).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn write(mut socket: UnixStream, queue: &Receiver<CellMessage>, shared: &Shared) {
    let mut broken = false;
    while let Ok(message) = queue.recv() {
        // What cannot be written any more is counted off all the same: somebody may wait for the end.
        if !broken {
            match frame::write(&mut socket, &message) {
                Ok(()) => {}
                Err(FrameError::Io(_)) => broken = true,
                // The socket is as good as before: the next one may go.
                Err(error) => tracing::error!(%error, "A message to control could not be written"),
            }
        }
        let sent = shared.sent.lock().unwrap_or_else(PoisonError::into_inner);
        shared.waiting.fetch_sub(1, Ordering::Relaxed);
        drop(sent);
        shared.all_sent.notify_all();
        let lost = shared.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            tracing::warn!(lost, "Lines were not logged: control was too slow");
        }
    }
}
