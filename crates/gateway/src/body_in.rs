//! A request's body on its way from the socket to the app.
//!
//! ```text
//! Receiving --last byte--> Done          (also when it had all arrived with the head: then there is no pipe)
//!     `-----malformed, too large, silent, or more unread than we care to throw away--> Abandoned
//! ```
//! The socket is read only while the pipe has room, so a slow app holds its client back. When nobody reads the pipe any
//! more, up to [`DISCARD`] bytes are read and thrown away for the connection's sake.
//! A client that waits for `100 Continue` gets it when the app first asks for the body, or before the head of a response
//! that streams; an app that answers otherwise never sees the body.
//! Invariant: no byte after the body's end is taken from the inbox; a pipe is closed only when the body was complete.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};
use hearth_core::pipe::{DEFAULT_CAPACITY, PipeWriter, Room, pipe};
use hearth_core::{Body, BodyError};
use tokio::time::Instant;

use crate::chunked::{BodyProgress, ChunkError, ChunkedDecoder};
use crate::config::{Config, HalfClose};
use crate::continuation::{Continuation, Upload};
use crate::head::{BodyFraming, Head};
use crate::outbox::Outbox;
use crate::reject::Reject;
use crate::wire::{READ, Wire};

/// How much of a body that nobody wants is read to keep the connection.
const DISCARD: u64 = 64 * 1024;
/// Bodies and pieces up to this size are copied, which is cheaper than to share the inbox.
const COPY: usize = 8 * 1024;

pub struct Incoming {
    state: State,
    /// Gone when nobody reads any more.
    pipe: Option<PipeWriter>,
    /// The client waits for a 100.
    continuation: Option<Arc<Continuation>>,
    discarded: u64,
    limit: u64,
}

enum State {
    Length(u64),
    Chunked(ChunkedDecoder),
    Done,
    Abandoned,
}

/// Why an exchange cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The client went away.
    Gone,
    Reject(Reject),
}

impl Incoming {
    /// Starts on the body behind `head`, which was just taken from the inbox. The limit is asked for only where there is
    /// a body.
    pub fn begin(head: &Head, inbox: &mut BytesMut, limit: impl FnOnce() -> u64) -> Result<(Self, Body), Reject> {
        if let BodyFraming::None | BodyFraming::Length(0) = head.framing {
            let none = Self { state: State::Done, pipe: None, continuation: None, discarded: 0, limit: 0 };
            return Ok((none, Body::Empty));
        }
        let limit = limit();
        let state = match head.framing {
            BodyFraming::None => State::Done,
            BodyFraming::Length(length) if length > limit => return Err(Reject::BodyTooLarge { limit }),
            BodyFraming::Length(length) => State::Length(length),
            BodyFraming::Chunked => State::Chunked(ChunkedDecoder::new(limit)),
        };
        let mut this = Self { state, pipe: None, continuation: None, discarded: 0, limit };
        let piece = this.take(inbox)?;
        if this.is_done() {
            return Ok((this, Body::from(piece)));
        }
        let length = if let BodyFraming::Length(length) = head.framing { Some(length) } else { None };
        let (writer, reader) = pipe(DEFAULT_CAPACITY, length);
        if head.expects_continue && piece.is_empty() {
            this.continuation = Some(Arc::default());
        }
        writer.write(piece);
        this.pipe = Some(writer);
        let reader = Upload::new(reader, this.continuation.clone());
        Ok((this, Body::Stream(Box::new(reader))))
    }

    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Whether the connection can probably be used again after an answer that is sent now and does not stream.
    pub fn keeps_connection(&self, inbox: &BytesMut) -> bool {
        match self.state {
            State::Done => true,
            State::Abandoned => false,
            // Nobody knows whether the client will send the body.
            _ if self.continuation.is_some() => false,
            State::Length(left) => left <= inbox.len() as u64 + DISCARD,
            State::Chunked(_) => true,
        }
    }

    /// Before the head of a response that may go on reading the request: afterwards it would be too late for a 100.
    pub fn send_continue(&mut self, outbox: &mut Outbox) {
        if self.continuation.take().is_some() {
            outbox.text().extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
    }

    /// Takes what comes, then watches the connection. Ready only when the exchange cannot go on.
    pub fn poll(&mut self, cx: &mut Context<'_>, wire: &mut Wire, config: &Config) -> Poll<Stop> {
        match self.poll_receive(cx, wire, config) {
            Poll::Ready(Ok(())) if self.is_done() => self.poll_watch(cx, wire, config),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
            Poll::Ready(Err(stop)) => Poll::Ready(stop),
        }
    }

    /// Nobody will read the rest: throws it away, within bounds. Ready when the body is over one way or the other.
    pub fn poll_discard(&mut self, cx: &mut Context<'_>, wire: &mut Wire, config: &Config) -> Poll<Result<(), Stop>> {
        if let Some(pipe) = self.pipe.take() {
            pipe.fail(BodyError::Cancelled);
        }
        if self.continuation.take().is_some() {
            self.state = State::Abandoned;
        }
        self.poll_receive(cx, wire, config)
    }

    /// Ready when the body is done or abandoned.
    fn poll_receive(&mut self, cx: &mut Context<'_>, wire: &mut Wire, config: &Config) -> Poll<Result<(), Stop>> {
        loop {
            if matches!(self.state, State::Done | State::Abandoned) {
                return Poll::Ready(Ok(()));
            }
            if let Some(pipe) = &self.pipe {
                match pipe.poll_ready(cx) {
                    Poll::Ready(Room::Gone) => self.pipe = None,
                    Poll::Ready(_) => {}
                    Poll::Pending => {
                        wire.read_timer.stop();
                        return Poll::Pending;
                    }
                }
            }
            if !wire.inbox.is_empty() {
                self.continuation = None;
                match self.take(&mut wire.inbox) {
                    Ok(piece) => self.deliver(piece),
                    Err(reject) => return Poll::Ready(Err(self.abandon(reject))),
                }
                continue;
            }
            if self.continuation.as_ref().is_some_and(|c| c.poll_wanted(cx).is_ready()) {
                self.send_continue(&mut wire.outbox);
            }
            let want = if let State::Length(left) = self.state { left.min(DISCARD) as usize } else { DISCARD as usize };
            match wire.poll_fill(cx, want.max(READ)) {
                Poll::Ready(Ok(1..)) => wire.read_timer.stop(),
                Poll::Ready(Ok(0) | Err(_)) => {
                    self.fail(BodyError::Truncated);
                    return Poll::Ready(Err(Stop::Gone));
                }
                Poll::Pending if self.continuation.is_some() => return Poll::Pending,
                Poll::Pending => {
                    return match wire.read_timer.poll(cx, config.body_timeout, Instant::now) {
                        Poll::Ready(()) => Poll::Ready(Err(self.abandon(Reject::BodyTimeout))),
                        Poll::Pending => Poll::Pending,
                    };
                }
            }
        }
    }

    /// The request is complete: what comes now is the next one, or the end of the connection.
    fn poll_watch(&mut self, cx: &mut Context<'_>, wire: &mut Wire, config: &Config) -> Poll<Stop> {
        while !wire.eof && wire.inbox.len() < READ {
            match wire.poll_fill(cx, READ) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(Ok(0)) if config.half_close == HalfClose::Allowed => {}
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Stop::Gone),
            }
        }
        Poll::Pending
    }

    /// What the inbox has of the body.
    fn take(&mut self, inbox: &mut BytesMut) -> Result<Bytes, Reject> {
        match &mut self.state {
            State::Length(left) => {
                let count = (*left).min(inbox.len() as u64);
                *left -= count;
                if *left == 0 {
                    self.state = State::Done;
                }
                Ok(split(inbox, count as usize))
            }
            State::Chunked(decoder) => {
                let (data, ended) = decoder.take(inbox).map_err(|error| match error {
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
                if self.discarded > DISCARD && !self.is_done() {
                    self.state = State::Abandoned;
                }
            }
        }
        if self.is_done() {
            if let Some(pipe) = self.pipe.take() {
                pipe.close();
            }
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
pub fn split(inbox: &mut BytesMut, count: usize) -> Bytes {
    if count > COPY {
        return inbox.split_to(count).freeze();
    }
    let piece = Bytes::copy_from_slice(&inbox[..count]);
    inbox.advance(count);
    piece
}
