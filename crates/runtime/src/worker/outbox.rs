//! Answers on their way out of a worker. Who has its answer may come with its next request at once, and must find the worker
//! free, or it would have another one started. So what is answered in a turn waits here until the holder has let go of the
//! worker, or goes on with the next event and the worker is truly busy. Streams wait, too: who is woken from within a turn would
//! be put behind it, on the same thread, and could not even begin while the turn goes on.
//!
//! Invariants: what is put here was answered in a turn of its own request, by a holder that empties the inbox, and that holder
//! sends it. A turn that goes on after its answer does not keep it: then the watchdog sends it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_core::{Failure, Response};
use tokio::sync::oneshot;

use super::event::EventResult;

#[derive(Default)]
pub(crate) struct Outbox {
    letters: Mutex<Vec<Letter>>,
    /// There are some, as far as can be told without the lock.
    waiting: AtomicBool,
}

/// Answers that were taken out.
#[must_use = "somebody waits for them"]
pub(crate) struct Letters(Vec<Letter>);

/// An answer, and who waits for it.
pub(crate) enum Letter {
    Response(oneshot::Sender<Result<Response, Failure>>, Result<Response, Failure>),
    Event(oneshot::Sender<Result<EventResult, Failure>>, Result<EventResult, Failure>),
    /// The worker can be used.
    Loaded(oneshot::Sender<Result<(), Failure>>),
}

impl Outbox {
    pub(crate) fn put(&self, letter: Letter) {
        self.lock().push(letter);
        self.waiting.store(true, Ordering::Release);
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.waiting.load(Ordering::Acquire)
    }

    /// All that are there, to be sent. Taken before the worker is let go of: the next holder's answers are not for this one
    /// to send.
    pub(crate) fn take(&self) -> Letters {
        if self.is_empty() {
            return Letters(Vec::new());
        }
        self.waiting.store(false, Ordering::Relaxed);
        Letters(std::mem::take(&mut *self.lock()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Letter>> {
        // Nothing that can panic runs under this lock.
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Letters {
    pub(crate) fn send(self) {
        self.0.into_iter().for_each(Letter::send);
    }

    /// What was answered in a turn that exceeded a limit before its end is no answer: the same as where the caller waits for it.
    pub(crate) fn fail(self, failure: &Failure) {
        for letter in self.0 {
            match letter {
                Letter::Response(reply, _) => drop(reply.send(Err(failure.clone()))),
                Letter::Event(reply, _) => drop(reply.send(Err(failure.clone()))),
                Letter::Loaded(reply) => drop(reply.send(Err(failure.clone()))),
            }
        }
    }
}

impl Letter {
    pub(crate) fn send(self) {
        // Nobody there any more: dropping the body says so to the worker, and a body that is whole needs no word.
        match self {
            Self::Response(reply, answer) => drop(reply.send(answer)),
            Self::Event(reply, answer) => drop(reply.send(answer)),
            Self::Loaded(reply) => drop(reply.send(Ok(()))),
        }
    }
}
