//! `Expect: 100-continue`: a client that waits for `100 Continue` gets it when the app first asks for the body.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use hearth_core::pipe::PipeReader;
use hearth_core::{BodyError, ByteStream};

/// Set when the app first polls the body.
#[derive(Default)]
pub struct ContinueSignal {
    wanted: Mutex<SignalState>,
}

#[derive(Default)]
enum SignalState {
    #[default]
    Waiting,
    Awaited(Waker),
    Wanted,
}

/// The app's end of a request's body.
pub struct AppBody {
    reader: PipeReader,
    signal: Option<Arc<ContinueSignal>>,
}

impl ContinueSignal {
    fn want(&self) {
        let before =
            std::mem::replace(&mut *self.wanted.lock().unwrap_or_else(PoisonError::into_inner), SignalState::Wanted);
        if let SignalState::Awaited(waker) = before {
            waker.wake();
        }
    }

    /// Ready once the app has asked for the body.
    pub fn poll_wanted(&self, cx: &Context<'_>) -> Poll<()> {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if let SignalState::Wanted = *wanted {
            return Poll::Ready(());
        }
        *wanted = SignalState::Awaited(cx.waker().clone());
        Poll::Pending
    }
}

impl AppBody {
    pub fn new(reader: PipeReader, signal: Option<Arc<ContinueSignal>>) -> Self {
        Self { reader, signal }
    }
}

impl ByteStream for AppBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(signal) = self.signal.take() {
            signal.want();
        }
        self.reader.poll_next(cx)
    }

    fn remaining(&self) -> Option<u64> {
        self.reader.remaining()
    }
}
