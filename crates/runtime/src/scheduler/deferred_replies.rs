//! Replies that wait for the end of their turn. A client that has its reply may send the next request
//! at once, and that request must find the worker free, or another worker would be started. So what is
//! replied in a turn is held here until the thread has unlocked the worker, or goes on with the next
//! event (then the worker is in fact busy). Streams wait, too: a task that is woken within a turn is
//! queued behind it, on the same thread, and could not begin before its end.
//!
//! Invariants: a reply is put here in a turn of its own request, by a thread that drains the inbox, and
//! that thread sends it. If the turn goes on after the reply, the watchdog sends it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_core::{Failure, Response};
use tokio::sync::oneshot;

use crate::worker::EventResult;

#[derive(Default)]
pub(crate) struct DeferredReplies {
    replies: Mutex<Vec<PendingReply>>,
    /// Whether there are some, as far as can be told without the lock.
    has_replies: AtomicBool,
}

/// Replies that were taken out.
#[must_use = "clients wait for them"]
pub(crate) struct PendingReplies(Vec<PendingReply>);

/// A reply and its receiver.
pub(crate) enum PendingReply {
    Response(oneshot::Sender<Result<Response, Failure>>, Result<Response, Failure>),
    Event(oneshot::Sender<Result<EventResult, Failure>>, Result<EventResult, Failure>),
    /// The worker can be used.
    Loaded(oneshot::Sender<Result<(), Failure>>),
}

// === impl DeferredReplies ===

impl DeferredReplies {
    pub(crate) fn push(&self, reply: PendingReply) {
        self.lock().push(reply);
        self.has_replies.store(true, Ordering::Release);
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.has_replies.load(Ordering::Acquire)
    }

    /// Takes all replies, to be sent. Called before the worker is unlocked: the replies of the next
    /// thread that locks it are that thread's to send.
    pub(crate) fn take(&self) -> PendingReplies {
        if self.is_empty() {
            return PendingReplies(Vec::new());
        }
        self.has_replies.store(false, Ordering::Relaxed);
        PendingReplies(std::mem::take(&mut *self.lock()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PendingReply>> {
        // Nothing that can panic runs under this lock.
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl PendingReplies ===

impl PendingReplies {
    pub(crate) fn send(self) {
        self.0.into_iter().for_each(PendingReply::send);
    }

    /// Replaces the replies of a turn that then exceeded a limit by the failure, as where the caller
    /// waits for the turn itself.
    pub(crate) fn fail(self, failure: &Failure) {
        for reply in self.0 {
            match reply {
                PendingReply::Response(reply, _) => drop(reply.send(Err(failure.clone()))),
                PendingReply::Event(reply, _) => drop(reply.send(Err(failure.clone()))),
                PendingReply::Loaded(reply) => drop(reply.send(Err(failure.clone()))),
            }
        }
    }
}

// === impl PendingReply ===

impl PendingReply {
    pub(crate) fn send(self) {
        // If the receiver is gone, dropping the body tells the worker; a body that is whole has no need.
        match self {
            Self::Response(reply, result) => drop(reply.send(result)),
            Self::Event(reply, result) => drop(reply.send(result)),
            Self::Loaded(reply) => drop(reply.send(Ok(()))),
        }
    }
}
