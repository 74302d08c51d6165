//! A request's body, as hyper reads it. Nothing is read before the connection can take it, so a slow server holds the app's stream
//! back.
//! Invariant: where a length was promised, exactly that many bytes are sent or the request fails; a body never runs on into what the
//! server would take for the next request.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream};
use hyper::body::{Frame, SizeHint};

/// The content of a request's body, kept so that it can be sent again.
pub(crate) enum RequestPayload {
    Bytes(Bytes),
    Stream(Box<dyn ByteStream>),
    /// A stream that is being sent or was sent.
    Spent,
}

pub(crate) struct RequestBody {
    body: Body,
    /// Bytes that are still to be sent, where a length was promised.
    owed: Option<u64>,
    sent: Sent,
}

/// Whether all of a request's body was given to the connection. Shared between the body and the connection's owner.
#[derive(Clone)]
pub(crate) struct Sent(Option<Arc<AtomicBool>>);

// === impl RequestPayload ===

impl RequestPayload {
    pub(crate) fn new(body: Body) -> Self {
        match body {
            Body::Empty => Self::Bytes(Bytes::new()),
            Body::Full(bytes) => Self::Bytes(bytes),
            Body::Stream(stream) => Self::Stream(stream),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Stream(stream) => stream.remaining() == Some(0),
            Self::Spent => false,
        }
    }

    /// Whether it is complete, and can be sent more than once.
    pub(crate) fn is_replayable(&self) -> bool {
        matches!(self, Self::Bytes(_))
    }

    /// The body for one attempt. A stream can be sent once.
    pub(crate) fn body(&mut self) -> RequestBody {
        match self {
            Self::Bytes(bytes) => RequestBody::new(bytes.clone().into(), Sent(None)),
            Self::Spent => RequestBody::new(Body::Empty, Sent(None)),
            Self::Stream(_) => {
                let Self::Stream(stream) = std::mem::replace(self, Self::Spent) else { unreachable!("matched above") };
                RequestBody::new(Body::Stream(stream), Sent(Some(Arc::default())))
            }
        }
    }

    /// Takes a body back that was not sent.
    pub(crate) fn restore(&mut self, upload: RequestBody) {
        if let (Self::Spent, Body::Stream(stream)) = (&*self, upload.body) {
            *self = Self::Stream(stream);
        }
    }
}

// === impl RequestBody ===

impl RequestBody {
    fn new(body: Body, sent: Sent) -> Self {
        let owed = body.length();
        if owed == Some(0) {
            sent.set();
        }
        Self { body, owed, sent }
    }

    pub(crate) fn sent(&self) -> Sent {
        self.sent.clone()
    }
}

impl hyper::body::Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let next = std::task::ready!(this.body.poll_next(cx));
        let next = match (next, &mut this.owed) {
            (Some(Ok(piece)), Some(owed)) => match owed.checked_sub(piece.len() as u64) {
                Some(left) => {
                    *owed = left;
                    Some(Ok(piece))
                }
                None => Some(Err(BodyError::Failed("it is longer than its stream promised".into()))),
            },
            (None, Some(1..)) => Some(Err(BodyError::Failed("it is shorter than its stream promised".into()))),
            (next, _) => next,
        };
        if next.is_none() || this.owed == Some(0) {
            this.sent.set();
        }
        Poll::Ready(next.map(|next| next.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.owed == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.owed.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

// === impl Sent ===

impl Sent {
    fn set(&self) {
        if let Self(Some(flag)) = self {
            flag.store(true, Ordering::Release);
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.as_ref().is_none_or(|flag| flag.load(Ordering::Acquire))
    }
}
