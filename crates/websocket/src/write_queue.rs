//! Frames that wait to be sent: headers and small payloads are copied into one buffer, large payloads are kept as they are.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;

/// Payloads of at least this size are not copied.
const MIN_SHARED: usize = 16 * 1024;
/// A buffer that grew beyond this is freed when it is empty.
const MAX_IDLE_CAPACITY: usize = 16 * 1024;

#[derive(Debug, Default)]
pub struct FrameQueue {
    /// Sent first.
    pieces: VecDeque<Bytes>,
    pieces_len: usize,
    /// Sent last, from `written` on.
    text: Vec<u8>,
    written: usize,
}

impl FrameQueue {
    pub fn len(&self) -> usize {
        self.pieces_len + self.text.len() - self.written
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The buffer that headers are appended to.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    pub(crate) fn push(&mut self, piece: Bytes) {
        if piece.len() < MIN_SHARED {
            self.text.extend_from_slice(&piece);
            return;
        }
        let mut before = Bytes::from(std::mem::take(&mut self.text));
        before.advance(std::mem::take(&mut self.written));
        for piece in [before, piece] {
            if !piece.is_empty() {
                self.pieces_len += piece.len();
                self.pieces.push_back(piece);
            }
        }
    }

    /// Takes all bytes.
    pub fn take(&mut self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.len());
        self.pieces.drain(..).for_each(|piece| all.extend_from_slice(&piece));
        all.extend_from_slice(&self.text[self.written..]);
        *self = Self::default();
        all
    }

    /// Writes until there is nothing left.
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        mut to: Pin<&mut impl AsyncWrite>,
    ) -> Poll<io::Result<()>> {
        while !self.is_empty() {
            let next = self.pieces.front().map_or(&self.text[self.written..], |piece| piece);
            let count = ready!(to.as_mut().poll_write(cx, next))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.advance(count);
        }
        to.poll_flush(cx)
    }

    fn advance(&mut self, count: usize) {
        if let Some(piece) = self.pieces.front_mut() {
            piece.advance(count);
            self.pieces_len -= count;
            if piece.is_empty() {
                self.pieces.pop_front();
            }
            return;
        }
        self.written += count;
        if self.written == self.text.len() {
            self.written = 0;
            self.text.clear();
            if self.text.capacity() > MAX_IDLE_CAPACITY {
                self.text = Vec::new();
            }
        } else if self.written >= MAX_IDLE_CAPACITY {
            self.text.drain(..self.written);
            self.written = 0;
        }
    }
}
