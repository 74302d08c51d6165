//! A client that waits for `100 Continue` gets it when the app first asks for the body.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use hearth_core::pipe::PipeReader;
use hearth_core::{BodyError, ByteStream};

/// Set when the app first asks for the body.
#[derive(Default)]
pub struct Continuation {
    wanted: Mutex<Wanted>,
}

#[derive(Default)]
enum Wanted {
    #[default]
    NotYet,
    NotYetBut(Waker),
    Yes,
}

/// The app's end of the pipe.
pub struct Upload {
    reader: PipeReader,
    continuation: Option<Arc<Continuation>>,
}

impl Continuation {
    fn want(&self) {
        let before = std::mem::replace(&mut *self.wanted.lock().unwrap_or_else(PoisonError::into_inner), Wanted::Yes);
        if let Wanted::NotYetBut(waker) = before {
            waker.wake();
        }
    }

    /// Ready once somebody asked.
    pub fn poll_wanted(&self, cx: &Context<'_>) -> Poll<()> {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Wanted::Yes = *wanted {
            return Poll::Ready(());
        }
        *wanted = Wanted::NotYetBut(cx.waker().clone());
        Poll::Pending
    }
}

impl Upload {
    pub fn new(reader: PipeReader, continuation: Option<Arc<Continuation>>) -> Self {
        Self { reader, continuation }
    }
}

impl ByteStream for Upload {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(continuation) = self.continuation.take() {
            continuation.want();
        }
        self.reader.poll_next(cx)
    }

    fn remaining(&self) -> Option<u64> {
        self.reader.remaining()
    }
}
