//! A message body: empty, complete bytes, or a stream that is read as fast as its consumer reads.

use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};

#[derive(Default)]
pub enum Body {
    #[default]
    Empty,
    Full(Bytes),
    Stream(Box<dyn ByteStream>),
}

/// Bytes that come in pieces. Dropping the stream tells the producer that the consumer reads no more.
pub trait ByteStream: Send {
    /// The next piece (never empty), `None` at the end. After an error or the end it is not polled again.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>;

    /// How many bytes are still to come, where the producer promised a number.
    fn remaining(&self) -> Option<u64> {
        None
    }

    /// The body as one of which a part can be read without reading the rest, if it can.
    fn as_ranged(&mut self) -> Option<&mut dyn RangedBody> {
        None
    }
}

/// A body of which a part can be read without the rest: a file, say. Nothing of it was read yet.
pub trait RangedBody {
    /// Restricts the body to the `length` bytes from `start`, which are within it.
    fn keep(&mut self, start: u64, length: u64);
}

/// Why a body ended before its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("the peer closed the connection before the end of the body")]
    Truncated,
    #[error("the body is longer than the limit of {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("the body was cancelled")]
    Cancelled,
    #[error("nothing came for too long")]
    TimedOut,
    #[error("{0}")]
    Failed(String),
}

// === impl Body ===

impl Body {
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Full(bytes) => bytes.is_empty(),
            Self::Stream(_) => false,
        }
    }

    /// The length, where it is known.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Empty => Some(0),
            Self::Full(bytes) => Some(bytes.len() as u64),
            Self::Stream(stream) => stream.remaining(),
        }
    }

    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match self {
            Self::Empty => Poll::Ready(None),
            Self::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = Self::Empty;
                Poll::Ready((!bytes.is_empty()).then_some(Ok(bytes)))
            }
            Self::Stream(stream) => {
                let next = stream.poll_next(cx);
                if matches!(next, Poll::Ready(None | Some(Err(_)))) {
                    *self = Self::Empty;
                }
                next
            }
        }
    }

    pub async fn next(&mut self) -> Option<Result<Bytes, BodyError>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Reads the whole body into one piece.
    pub async fn collect(mut self) -> Result<Bytes, BodyError> {
        if let Self::Full(bytes) = self {
            return Ok(bytes);
        }
        let mut all = BytesMut::new();
        while let Some(piece) = self.next().await {
            all.extend_from_slice(&piece?);
        }
        Ok(all.freeze())
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        if bytes.is_empty() { Self::Empty } else { Self::Full(bytes) }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Full(bytes) => write!(f, "Full({} bytes)", bytes.len()),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}
