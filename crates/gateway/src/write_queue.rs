//! What waits to be sent: heads, frames and small pieces are copied into one reused buffer, large pieces are kept as they are.
//! Sent with one vectored write, or with a plain one when there is no large piece.
//!
//! ```text
//! buf:    [ written | head, frame |                 frame, piece, frame ... ]
//! large:                          ^ (offset, bytes)
//! ```
//! Invariant: offsets in `large` never fall below `written`, and rise.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;

/// Pieces of at least this size are not copied.
const MIN_SHARED: usize = 8 * 1024;
/// A buffer that grew beyond this is freed when it is empty.
const MAX_IDLE_CAPACITY: usize = 32 * 1024;
/// Slices in one write.
const MAX_SLICES: usize = 16;

#[derive(Debug, Default)]
pub struct WriteQueue {
    buf: Vec<u8>,
    written: usize,
    large: VecDeque<(usize, Bytes)>,
    large_len: usize,
}

impl WriteQueue {
    pub fn len(&self) -> usize {
        self.buf.len() - self.written + self.large_len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The buffer that heads and frames are appended to.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buf
    }

    pub fn push(&mut self, piece: Bytes) {
        if piece.len() < MIN_SHARED {
            self.buf.extend_from_slice(&piece);
        } else {
            self.large_len += piece.len();
            self.large.push_back((self.buf.len(), piece));
        }
    }

    /// Writes once, at least a byte.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, to: Pin<&mut impl AsyncWrite>) -> Poll<io::Result<()>> {
        let written = if self.large.is_empty() {
            ready!(to.poll_write(cx, &self.buf[self.written..]))?
        } else {
            let mut slices = [IoSlice::new(&[]); MAX_SLICES];
            let used = self.slices(&mut slices);
            ready!(to.poll_write_vectored(cx, &slices[..used]))?
        };
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        self.advance(written);
        Poll::Ready(Ok(()))
    }

    fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>; MAX_SLICES]) -> usize {
        let (mut used, mut at) = (0, self.written);
        let mut add = |slice: &'a [u8]| {
            if !slice.is_empty() && used < MAX_SLICES {
                slices[used] = IoSlice::new(slice);
                used += 1;
            }
        };
        // Each large piece takes two at most, so the rest of the buffer is added only when all of them were.
        for (offset, piece) in self.large.iter().take(MAX_SLICES / 2) {
            add(&self.buf[at..*offset]);
            add(piece);
            at = *offset;
        }
        if self.large.len() < MAX_SLICES / 2 {
            add(&self.buf[at..]);
        }
        used
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let text_end = self.large.front().map_or(self.buf.len(), |(offset, _)| *offset);
            let text = count.min(text_end - self.written);
            self.written += text;
            count -= text;
            let Some((_, piece)) = self.large.front_mut() else { break };
            let taken = count.min(piece.len());
            piece.advance(taken);
            count -= taken;
            self.large_len -= taken;
            if piece.is_empty() {
                self.large.pop_front();
            }
        }
        if self.is_empty() {
            self.written = 0;
            self.buf.clear();
            if self.buf.capacity() > MAX_IDLE_CAPACITY {
                self.buf = Vec::new();
            }
        } else if self.written >= MAX_IDLE_CAPACITY {
            self.compact();
        }
    }

    /// Moves the rest of the buffer to its start: with a slow reader the queue may never be empty.
    fn compact(&mut self) {
        self.buf.drain(..self.written);
        for (offset, _) in &mut self.large {
            *offset -= self.written;
        }
        self.written = 0;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// A writer that takes a few bytes at a time.
    struct Slow(Vec<u8>, usize);

    impl AsyncWrite for Slow {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            let n = buf.len().min(self.1);
            self.0.extend_from_slice(&buf[..n]);
            Poll::Ready(Ok(n))
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bufs: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let all: Vec<u8> = bufs.iter().flat_map(|b| b.iter().copied()).take(self.1).collect();
            self.0.extend_from_slice(&all);
            Poll::Ready(Ok(all.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn the_order_is_kept_whatever_the_writes_take() {
        for step in [1, 7, 4_000, MIN_SHARED, 100_000, 1_000_000] {
            let (mut write_queue, mut slow, mut expected) = (WriteQueue::default(), Slow(Vec::new(), step), Vec::new());
            let mut cx = Context::from_waker(Waker::noop());
            for round in 0..60u8 {
                for size in [1, MIN_SHARED - 1, MIN_SHARED, 3 * MIN_SHARED, 0] {
                    let piece = vec![round.wrapping_mul(31).wrapping_add(size as u8); size];
                    write_queue.buffer().push(round);
                    write_queue.push(piece.clone().into());
                    expected.push(round);
                    expected.extend_from_slice(&piece);
                }
                let _ = write_queue.poll_write(&mut cx, Pin::new(&mut slow));
                assert_eq!(write_queue.len(), expected.len() - slow.0.len());
            }
            while !write_queue.is_empty() {
                assert!(matches!(write_queue.poll_write(&mut cx, Pin::new(&mut slow)), Poll::Ready(Ok(()))));
            }
            assert!(slow.0 == expected, "step {step}");
        }
    }

    #[test]
    fn a_slow_reader_does_not_make_the_buffer_grow() {
        let (mut write_queue, mut slow) = (WriteQueue::default(), Slow(Vec::new(), 1000));
        let mut cx = Context::from_waker(Waker::noop());
        write_queue.push(vec![0; 2000].into());
        for _ in 0..10_000 {
            write_queue.push(vec![0; 1000].into());
            let _ = write_queue.poll_write(&mut cx, Pin::new(&mut slow));
            assert_eq!(write_queue.len(), 2000);
            assert!(write_queue.buf.capacity() < 4 * MAX_IDLE_CAPACITY);
        }
    }
}
