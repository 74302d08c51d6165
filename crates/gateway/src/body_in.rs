//! A request's body on its way from the socket to the app.
//!
//! ```text
//! Receiving --last byte--> Done          (also when it had all arrived with the head: then there is no pipe)
//!     `-----malformed, too large, silent, or more unread than is worth discarding--> Abandoned
//! ```
//! The socket is read only while the pipe has room, so a slow app holds its client back. When the app has dropped the pipe,
//! up to [`MAX_DISCARD`] bytes are read and discarded, to keep the connection.
//! A client that waits for `100 Continue` gets it when the app first asks for the body, or before the head of a response
//! that streams; an app that answers otherwise never sees the body.
//! Invariant: no byte after the body's end is taken from the read buffer; a pipe is closed only when the body was complete.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};
use hearth_core::pipe::{DEFAULT_CAPACITY, PipeWriter, Room, pipe};
use hearth_core::{Body, BodyError};
use tokio::time::Instant;

use crate::buffered_stream::{BufferedStream, READ_SIZE};
use crate::chunked::{BodyProgress, ChunkError, ChunkedDecoder};
use crate::config::{Config, HalfClose};
use crate::expect_continue::{AppBody, ContinueSignal};
use crate::head::{BodyFraming, Head};
use crate::reject::Reject;
use crate::write_queue::WriteQueue;

/// How much of a body that the app does not read is discarded to keep the connection.
const MAX_DISCARD: u64 = 64 * 1024;
/// Bodies and pieces up to this size are copied, which is cheaper than to share the read buffer.
const MAX_COPY: usize = 8 * 1024;

pub struct Incoming {
    state: State,
    /// None when the app reads no more.
    pipe: Option<PipeWriter>,
    /// Set while the client waits for `100 Continue`.
    signal: Option<Arc<ContinueSignal>>,
    discarded: u64,
    limit: u64,
}

enum State {
    Length(u64),
    Chunked(ChunkedDecoder),
    Done,
    Abandoned,
}

/// Why an exchange ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The client went away.
    Gone,
    Reject(Reject),
}

impl Incoming {
    /// Starts on the body behind `head`, which was just taken from the read buffer. `limit` is called only where there is a
    /// body.
    pub fn begin(head: &Head, read_buf: &mut BytesMut, limit: impl FnOnce() -> u64) -> Result<(Self, Body), Reject> {
        if let BodyFraming::None | BodyFraming::Length(0) = head.framing {
            let none = Self { state: State::Done, pipe: None, signal: None, discarded: 0, limit: 0 };
            return Ok((none, Body::Empty));
        }
        let limit = limit();
        let state = match head.framing {
            BodyFraming::None => State::Done,
            BodyFraming::Length(length) if length > limit => return Err(Reject::BodyTooLarge { limit }),
            BodyFraming::Length(length) => State::Length(length),
            BodyFraming::Chunked => State::Chunked(ChunkedDecoder::new(limit)),
        };
        let mut this = Self { state, pipe: None, signal: None, discarded: 0, limit };
        let piece = this.take(read_buf)?;
        if this.is_done() {
            return Ok((this, Body::from(piece)));
        }
        let length = if let BodyFraming::Length(length) = head.framing { Some(length) } else { None };
        let (writer, reader) = pipe(DEFAULT_CAPACITY, length);
        if head.expects_continue && piece.is_empty() {
            this.signal = Some(Arc::default());
        }
        writer.write(piece);
        this.pipe = Some(writer);
        let reader = AppBody::new(reader, this.signal.clone());
        Ok((this, Body::Stream(Box::new(reader))))
    }

    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Whether the connection can probably be used again after an answer that is sent now and does not stream.
    pub fn keeps_connection(&self, read_buf: &BytesMut) -> bool {
        match self.state {
            State::Done => true,
            State::Abandoned => false,
            // It is unknown whether the client will send the body.
            _ if self.signal.is_some() => false,
            State::Length(left) => left <= read_buf.len() as u64 + MAX_DISCARD,
            State::Chunked(_) => true,
        }
    }

    /// Sends `100 Continue` if the client waits for it. To be called before the head of a response that may go on reading the
    /// request: after the head it would be too late.
    pub fn send_continue(&mut self, write_queue: &mut WriteQueue) {
        if self.signal.take().is_some() {
            write_queue.buffer().extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
    }

    /// Receives the body, then watches the connection for its end. Ready only when the exchange must end.
    pub fn poll(&mut self, cx: &mut Context<'_>, stream: &mut BufferedStream, config: &Config) -> Poll<Stop> {
        match self.poll_receive(cx, stream, config) {
            Poll::Ready(Ok(())) if self.is_done() => self.poll_watch(cx, stream, config),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
            Poll::Ready(Err(stop)) => Poll::Ready(stop),
        }
    }

    /// Discards the rest of the body, within bounds, since the app will not read it. Ready when the body is done or abandoned.
    pub fn poll_discard(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut BufferedStream,
        config: &Config,
    ) -> Poll<Result<(), Stop>> {
        if let Some(pipe) = self.pipe.take() {
            pipe.fail(BodyError::Cancelled);
        }
        if self.signal.take().is_some() {
            self.state = State::Abandoned;
        }
        self.poll_receive(cx, stream, config)
    }

    /// Ready when the body is done or abandoned.
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut BufferedStream,
        config: &Config,
    ) -> Poll<Result<(), Stop>> {
        loop {
            if matches!(self.state, State::Done | State::Abandoned) {
                return Poll::Ready(Ok(()));
            }
            if let Some(pipe) = &self.pipe {
                match pipe.poll_ready(cx) {
                    Poll::Ready(Room::Gone) => self.pipe = None,
                    Poll::Ready(_) => {}
                    Poll::Pending => {
                        stream.read_timer.stop();
                        return Poll::Pending;
                    }
                }
            }
            if !stream.read_buf.is_empty() {
                self.signal = None;
                match self.take(&mut stream.read_buf) {
                    Ok(piece) => self.deliver(piece),
                    Err(reject) => return Poll::Ready(Err(self.abandon(reject))),
                }
                continue;
            }
            if self.signal.as_ref().is_some_and(|c| c.poll_wanted(cx).is_ready()) {
                self.send_continue(&mut stream.write_queue);
            }
            let want = if let State::Length(left) = self.state {
                left.min(MAX_DISCARD) as usize
            } else {
                MAX_DISCARD as usize
            };
            match stream.poll_fill(cx, want.max(READ_SIZE)) {
                Poll::Ready(Ok(1..)) => stream.read_timer.stop(),
                Poll::Ready(Ok(0) | Err(_)) => {
                    self.fail(BodyError::Truncated);
                    return Poll::Ready(Err(Stop::Gone));
                }
                Poll::Pending if self.signal.is_some() => return Poll::Pending,
                Poll::Pending => {
                    return match stream.read_timer.poll(cx, config.body_timeout, Instant::now) {
                        Poll::Ready(()) => Poll::Ready(Err(self.abandon(Reject::BodyTimeout))),
                        Poll::Pending => Poll::Pending,
                    };
                }
            }
        }
    }

    /// The request is complete: what comes now is the next one, or the end of the connection.
    fn poll_watch(&mut self, cx: &mut Context<'_>, stream: &mut BufferedStream, config: &Config) -> Poll<Stop> {
        while !stream.eof && stream.read_buf.len() < READ_SIZE {
            match stream.poll_fill(cx, READ_SIZE) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(Ok(0)) if config.half_close == HalfClose::Allowed => {}
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Stop::Gone),
            }
        }
        Poll::Pending
    }

    /// Takes what the read buffer has of the body.
    fn take(&mut self, read_buf: &mut BytesMut) -> Result<Bytes, Reject> {
        match &mut self.state {
            State::Length(left) => {
                let count = (*left).min(read_buf.len() as u64);
                *left -= count;
                if *left == 0 {
                    self.state = State::Done;
                }
                Ok(split(read_buf, count as usize))
            }
            State::Chunked(decoder) => {
                let (data, ended) = decoder.take(read_buf).map_err(|error| match error {
                    ChunkError::TooLarge => Reject::BodyTooLarge { limit: self.limit },
                    error => Reject::Chunk(error),
                })?;
                if ended == BodyProgress::Complete {
                    self.state = State::Done;
                }
                Ok(data)
            }
            State::Done | State::Abandoned => Ok(Bytes::new()),
        }
    }

    fn deliver(&mut self, piece: Bytes) {
        let count = piece.len() as u64;
        match &self.pipe {
            Some(pipe) if pipe.write(piece) != Room::Gone => {}
            _ => {
                self.pipe = None;
                self.discarded += count;
                if self.discarded > MAX_DISCARD && !self.is_done() {
                    self.state = State::Abandoned;
                }
            }
        }
        if self.is_done()
            && let Some(pipe) = self.pipe.take()
        {
            pipe.close();
        }
    }

    fn abandon(&mut self, reject: Reject) -> Stop {
        self.fail(match reject {
            Reject::BodyTooLarge { limit } => BodyError::TooLarge { limit },
            Reject::BodyTimeout => BodyError::TimedOut,
            other => BodyError::Failed(other.to_string()),
        });
        Stop::Reject(reject)
    }

    fn fail(&mut self, error: BodyError) {
        self.state = State::Abandoned;
        if let Some(pipe) = self.pipe.take() {
            pipe.fail(error);
        }
    }
}

/// The first `count` bytes: shared where that saves a large copy, else copied.
pub fn split(read_buf: &mut BytesMut, count: usize) -> Bytes {
    if count > MAX_COPY {
        return read_buf.split_to(count).freeze();
    }
    let piece = Bytes::copy_from_slice(&read_buf[..count]);
    read_buf.advance(count);
    piece
}
