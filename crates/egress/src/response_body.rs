//! A response's body, and the connection that it is read from. The app's reads are polled through to hyper, which
//! reads the socket only when it is asked: back-pressure reaches the server.
//! States of the connection: owned by the body until its end, then back in the pool. A body that is dropped before its
//! end, or that fails, takes its connection with it.

use std::io::ErrorKind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream};
use hyper::body::{Body as _, Incoming};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::connection::Connection;
use crate::error::find;
use crate::pool::Pool;
use crate::request_body::Sent;
use crate::target::Origin;

/// How much of a redirect's body is read, and for how long, to keep its connection.
const MAX_DRAIN_BYTES: usize = 16 * 1024;
const DRAIN_TIMEOUT: Duration = Duration::from_millis(50);

/// A connection in use, and the pool that it returns to.
pub(crate) struct ConnectionGuard {
    pub(crate) connection: Connection,
    pub(crate) origin: Origin,
    pub(crate) pool: Arc<Pool>,
    pub(crate) sent: Sent,
}

pub(crate) struct ResponseBody {
    incoming: Incoming,
    /// `None` after the end or an error.
    guard: Option<ConnectionGuard>,
    /// Released after the connection is returned, so that the request that waits for the permit finds the connection in the pool.
    permit: Option<OwnedSemaphorePermit>,
}

// === impl ConnectionGuard ===

impl ConnectionGuard {
    /// The response is complete. A server that answered without reading the whole request cannot be asked again.
    fn finish(self) {
        if self.sent.is_set() {
            self.pool.put(self.origin, self.connection);
        }
    }
}

// === impl ResponseBody ===

impl ResponseBody {
    pub(crate) fn new(incoming: Incoming, guard: ConnectionGuard) -> Self {
        Self { incoming, guard: Some(guard), permit: None }
    }

    /// The body for the app; the request counts as in flight until the body's end.
    pub(crate) fn into_body(mut self, permit: OwnedSemaphorePermit) -> Body {
        if self.incoming.is_end_stream() {
            self.end();
            return Body::Empty;
        }
        self.permit = Some(permit);
        Body::Stream(Box::new(self))
    }

    /// Reads and discards the body, if it is short and arrives soon: that costs less than another connection.
    pub(crate) async fn drain(mut self) {
        if self.incoming.is_end_stream() {
            return self.end();
        }
        let mut left = MAX_DRAIN_BYTES;
        let short = std::future::poll_fn(|cx| {
            while let Some(piece) = ready!(self.poll_next(cx)) {
                match piece.ok().and_then(|piece| left.checked_sub(piece.len())) {
                    Some(rest) => left = rest,
                    None => break,
                }
            }
            Poll::Ready(())
        });
        timeout(DRAIN_TIMEOUT, short).await.ok();
    }

    fn end(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.finish();
        }
        self.permit = None;
    }

    fn fail(&mut self, error: &hyper::Error) -> BodyError {
        self.guard = None;
        self.permit = None;
        let cut = |kind| matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
        if error.is_incomplete_message() || find::<std::io::Error>(error).is_some_and(|e| cut(e.kind())) {
            return BodyError::Truncated;
        }
        let cause = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        BodyError::Failed(format!("the response body cannot be read: {cause}"))
    }
}

impl ByteStream for ResponseBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            match ready!(Pin::new(&mut self.incoming).poll_frame(cx)) {
                // Trailers are not part of Fetch.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(piece) if !piece.is_empty() => return Poll::Ready(Some(Ok(piece))),
                    _ => {}
                },
                Some(Err(error)) => return Poll::Ready(Some(Err(self.fail(&error)))),
                None => {
                    self.end();
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn remaining(&self) -> Option<u64> {
        self.incoming.size_hint().exact()
    }
}
