//! One connection of a sandbox's program to the proxy, at the host's end: a stream like any other for the proxy, words in the
//! agent's stream below. What is to be said is asked for when there is room to send it ([`Passage::word`]), so that it waits
//! here, within the window, and nowhere else.
//!
//! ```text
//! the program:  Sending -> Ended, or Sending -> Broken        we:  Open -> Ending -> Ended -> Closing -> Closed
//! ```
//! (we may leave out any but the last). Invariants: at most a window of bytes is kept that the proxy has not read, and at most
//! one that the program has not taken. What the agent says against that is an [`Overrun`]. Once closed nothing is said of it.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use hearth_agent::{Blob, Inward, PASSAGE_WINDOW};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Line;
use super::calls::Overrun;

/// Sent at once, so that what is more urgent never waits for long.
const PIECE: usize = 16 << 10;
/// So many bytes that were read are told at once; fewer leave the program room enough.
const TOLD: usize = PASSAGE_WINDOW / 4;

pub(super) struct Passage {
    state: Mutex<State>,
}

struct State {
    program: Program,
    /// What the program may still send.
    allowance: usize,
    unread: VecDeque<u8>,
    /// What was read, and the agent does not know.
    untold: usize,
    we: We,
    /// What the proxy may still write.
    window: usize,
    unsent: VecDeque<u8>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Sending,
    Ended,
    Broken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum We {
    Open,
    /// Nothing follows, which is not said yet.
    Ending,
    Ended,
    /// The proxy is done with it, which is not said yet.
    Closing,
    /// It was said, or the agent had its last word.
    Closed,
}

/// The proxy's end. Dropping it closes it.
pub(super) struct PassageStream {
    line: Arc<Line>,
    passage: Arc<Passage>,
}

// === impl Passage ===

impl Passage {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                program: Program::Sending,
                allowance: PASSAGE_WINDOW,
                unread: VecDeque::new(),
                untold: 0,
                we: We::Open,
                window: PASSAGE_WINDOW,
                unsent: VecDeque::new(),
                reader: None,
                writer: None,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From the program.
    pub(super) fn data(&self, bytes: &[u8]) -> Result<(), Overrun> {
        let mut state = self.lock();
        if state.program != Program::Sending || bytes.is_empty() {
            return Err(Overrun);
        }
        state.allowance = state.allowance.checked_sub(bytes.len()).ok_or(Overrun)?;
        // It may have been on its way when the proxy was done with it.
        if state.we < We::Closing {
            state.unread.extend(bytes);
            state.wake_reader();
        }
        Ok(())
    }

    /// Nothing follows from the program.
    pub(super) fn end(&self) -> Result<(), Overrun> {
        let mut state = self.lock();
        if state.program != Program::Sending {
            return Err(Overrun);
        }
        state.program = Program::Ended;
        state.wake_reader();
        Ok(())
    }

    /// So much has reached the program.
    pub(super) fn taken(&self, bytes: u32) -> Result<(), Overrun> {
        let mut state = self.lock();
        let under_way = PASSAGE_WINDOW - state.window - state.unsent.len();
        if bytes as usize > under_way {
            return Err(Overrun);
        }
        state.window += bytes as usize;
        state.wake_writer();
        Ok(())
    }

    /// Nothing is said of it any more, on either side. What came before can still be read.
    pub(super) fn gone(&self) {
        let mut state = self.lock();
        if state.program == Program::Sending {
            state.program = Program::Broken;
        }
        state.we = We::Closed;
        state.unsent = VecDeque::new();
        state.wake_reader();
        state.wake_writer();
    }

    /// What is to be said next, if anything.
    pub(super) fn word(&self) -> Option<Inward> {
        let mut state = self.lock();
        if state.untold >= TOLD && state.program == Program::Sending && state.we < We::Closing {
            let bytes = std::mem::take(&mut state.untold);
            state.allowance += bytes;
            return Some(Inward::Taken { bytes: bytes as u32 });
        }
        if !state.unsent.is_empty() {
            let count = state.unsent.len().min(PIECE);
            return Some(Inward::Data { bytes: Blob(state.unsent.drain(..count).collect()) });
        }
        match state.we {
            We::Ending => {
                state.we = We::Ended;
                Some(Inward::End {})
            }
            We::Closing => {
                state.we = We::Closed;
                Some(Inward::Close {})
            }
            We::Open | We::Ended | We::Closed => None,
        }
    }

    /// Bytes that are kept, in either direction.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        let state = self.lock();
        state.unread.len().max(state.unsent.len())
    }
}

// === impl State ===

impl State {
    fn wake_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    fn wake_writer(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }
}

// === impl PassageStream ===

impl PassageStream {
    pub(super) fn new(line: Arc<Line>, passage: Arc<Passage>) -> Self {
        Self { line, passage }
    }

    /// There is something to be said.
    fn nudge(&self) {
        self.line.outbox.nudge();
    }
}

impl AsyncRead for PassageStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut state = self.passage.lock();
        if state.unread.is_empty() {
            return match state.program {
                Program::Sending => {
                    state.reader = Some(context.waker().clone());
                    Poll::Pending
                }
                Program::Ended => Poll::Ready(Ok(())),
                Program::Broken => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            };
        }
        let piece = state.unread.as_slices().0;
        let count = piece.len().min(buffer.remaining());
        buffer.put_slice(&piece[..count]);
        state.unread.drain(..count);
        state.untold += count;
        let worth_saying = state.untold >= TOLD;
        drop(state);
        if worth_saying {
            self.nudge();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PassageStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.passage.lock();
        if state.we != We::Open {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let count = bytes.len().min(state.window);
        if count == 0 {
            state.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        state.window -= count;
        state.unsent.extend(&bytes[..count]);
        drop(state);
        self.nudge();
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.passage.lock();
        if state.we == We::Open {
            state.we = We::Ending;
            drop(state);
            self.nudge();
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for PassageStream {
    fn drop(&mut self) {
        let mut state = self.passage.lock();
        state.unread = VecDeque::new();
        if state.we != We::Closed {
            state.we = We::Closing;
            drop(state);
            self.nudge();
        }
    }
}
