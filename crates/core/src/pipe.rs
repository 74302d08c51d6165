//! A stream of bytes from one task to another with back-pressure by bytes: the writer is told when the pipe is full and
//! woken when there is room again; either side is told when the other is dropped.
//! States of the writing side: `Open -> Closed | Failed`; dropping an open writer fails the pipe, so that a reader can
//! tell a body that ended from one that was cut off.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use crate::body::{BodyError, ByteStream};

/// Bytes that may wait in a pipe before its writer is held back.
pub const DEFAULT_CAPACITY: usize = 64 * 1024;

pub struct PipeWriter {
    shared: Arc<Mutex<Shared>>,
}

pub struct PipeReader {
    shared: Arc<Mutex<Shared>>,
}

/// The state of the pipe after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// More may be written.
    Yes,
    /// What was written is kept, but the writer should wait.
    Full,
    /// The reader was dropped; what was written is lost.
    Gone,
}

struct Shared {
    pieces: VecDeque<Bytes>,
    waiting: usize,
    capacity: usize,
    /// How many bytes the writer promised in all, less those already read.
    remaining: Option<u64>,
    end: End,
    reader_gone: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

enum End {
    Open,
    Closed,
    Failed(BodyError),
}

/// A pipe that holds about `capacity` bytes; `length` is what the writer promises to write in all.
pub fn pipe(capacity: usize, length: Option<u64>) -> (PipeWriter, PipeReader) {
    let shared = Arc::new(Mutex::new(Shared {
        pieces: VecDeque::new(),
        waiting: 0,
        capacity,
        remaining: length,
        end: End::Open,
        reader_gone: false,
        reader: None,
        writer: None,
    }));
    (PipeWriter { shared: shared.clone() }, PipeReader { shared })
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // No code that can panic runs under this lock.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl PipeWriter ===

impl PipeWriter {
    /// Writes a piece. It is accepted even when the pipe is full: writers are told to wait, but not forced to.
    pub fn write(&self, piece: Bytes) -> Room {
        let mut shared = lock(&self.shared);
        if shared.reader_gone {
            return Room::Gone;
        }
        if !piece.is_empty() {
            shared.waiting += piece.len();
            shared.pieces.push_back(piece);
        }
        let room = shared.room();
        let waker = shared.reader.take();
        drop(shared);
        wake(waker);
        room
    }

    /// Ready when there is room, or when the reader was dropped.
    pub fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<Room> {
        let mut shared = lock(&self.shared);
        match shared.room() {
            Room::Full => {
                shared.writer = Some(cx.waker().clone());
                Poll::Pending
            }
            room => Poll::Ready(room),
        }
    }

    pub async fn ready(&self) -> Room {
        std::future::poll_fn(|cx| self.poll_ready(cx)).await
    }

    /// Ready when the reader was dropped.
    pub fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut shared = lock(&self.shared);
        if shared.reader_gone {
            return Poll::Ready(());
        }
        shared.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    pub fn close(&self) {
        self.finish(End::Closed);
    }

    pub fn fail(&self, error: BodyError) {
        self.finish(End::Failed(error));
    }

    fn finish(&self, end: End) {
        let mut shared = lock(&self.shared);
        if matches!(shared.end, End::Open) {
            shared.end = end;
        }
        let waker = shared.reader.take();
        drop(shared);
        wake(waker);
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        self.finish(End::Failed(BodyError::Truncated));
    }
}

// === impl PipeReader ===

impl ByteStream for PipeReader {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        let mut shared = lock(&self.shared);
        if let Some(piece) = shared.pieces.pop_front() {
            shared.waiting -= piece.len();
            if let Some(remaining) = &mut shared.remaining {
                *remaining = remaining.saturating_sub(piece.len() as u64);
            }
            let waker = if shared.room() == Room::Yes { shared.writer.take() } else { None };
            drop(shared);
            wake(waker);
            return Poll::Ready(Some(Ok(piece)));
        }
        match &shared.end {
            End::Closed => Poll::Ready(None),
            End::Failed(error) => Poll::Ready(Some(Err(error.clone()))),
            End::Open => {
                shared.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    fn remaining(&self) -> Option<u64> {
        lock(&self.shared).remaining
    }
}

impl PipeReader {
    /// All of the body, if its end has been written already.
    pub fn take_if_complete(&mut self) -> Option<VecDeque<Bytes>> {
        let mut shared = lock(&self.shared);
        if !matches!(shared.end, End::Closed) {
            return None;
        }
        shared.waiting = 0;
        Some(std::mem::take(&mut shared.pieces))
    }
}

impl Drop for PipeReader {
    fn drop(&mut self) {
        let mut shared = lock(&self.shared);
        shared.reader_gone = true;
        let pieces = std::mem::take(&mut shared.pieces);
        let waker = shared.writer.take();
        drop(shared);
        drop(pieces);
        wake(waker);
    }
}

// === impl Shared ===

impl Shared {
    fn room(&self) -> Room {
        if self.reader_gone {
            Room::Gone
        } else if self.waiting >= self.capacity {
            Room::Full
        } else {
            Room::Yes
        }
    }
}

/// Outside the lock: a waker may run anything.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll(reader: &mut PipeReader) -> Poll<Option<Result<Bytes, BodyError>>> {
        reader.poll_next(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_full_pipe_holds_back_its_writer() {
        let (writer, mut reader) = pipe(10, None);
        assert_eq!(writer.write(Bytes::from_static(b"12345")), Room::Yes);
        assert_eq!(writer.write(Bytes::from_static(b"67890")), Room::Full);
        assert!(writer.poll_ready(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(poll(&mut reader), Poll::Ready(Some(Ok(Bytes::from_static(b"12345")))));
        assert_eq!(writer.poll_ready(&mut Context::from_waker(Waker::noop())), Poll::Ready(Room::Yes));
    }

    #[test]
    fn the_end_comes_after_all_pieces() {
        let (writer, mut reader) = pipe(10, Some(2));
        writer.write(Bytes::from_static(b"ab"));
        writer.close();
        assert_eq!(reader.remaining(), Some(2));
        assert_eq!(poll(&mut reader), Poll::Ready(Some(Ok(Bytes::from_static(b"ab")))));
        assert_eq!(poll(&mut reader), Poll::Ready(None));
    }

    #[test]
    fn a_dropped_writer_is_a_failure_and_a_dropped_reader_is_noticed() {
        let (writer, mut reader) = pipe(10, None);
        drop(writer);
        assert_eq!(poll(&mut reader), Poll::Ready(Some(Err(BodyError::Truncated))));
        let (writer, reader) = pipe(10, None);
        drop(reader);
        assert_eq!(writer.write(Bytes::from_static(b"x")), Room::Gone);
    }
}
