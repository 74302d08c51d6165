//! `pooled` and `pinned`: a warm worker of the pool, which stays warm. The lease lasts to the end of the response's body;
//! what `waitUntil` keeps running after that keeps the worker from being evicted.

use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream, Failure, RangedBody, Response};
use hearth_pool::{AcquireError, KeyedPool, OwnedLease, OwnedPermit};

use crate::keeper::Keeper;

/// Whether the worker was there before the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warmth {
    Warm,
    Cold,
}

/// A lease. Waits for room for `patience`; a worker that is starting has the time that its modules may take.
pub(crate) async fn lease(
    shelf: &KeyedPool<Keeper>,
    patience: Duration,
) -> Result<(OwnedLease<Keeper>, Warmth), Failure> {
    if let Some(lease) = shelf.try_acquire_owned() {
        return Ok((lease, Warmth::Warm));
    }
    let limit = shelf.key().app().limits.module_wall;
    let patience = if limit.is_zero() { Duration::MAX } else { patience + limit };
    match tokio::time::timeout(patience, shelf.acquire()).await {
        Ok(Ok(lease)) => Ok((lease, Warmth::Cold)),
        Ok(Err(error)) => Err(refusal(error)),
        Err(_) => Err(Failure::Capacity { reason: "waited too long for a worker" }),
    }
}

pub(crate) fn refusal(error: AcquireError<Failure>) -> Failure {
    match error {
        AcquireError::Failed(failure) => failure,
        AcquireError::Panicked => Failure::Internal { message: "a worker's start did not come to its end".into() },
        AcquireError::Retired => Failure::Capacity { reason: "this version is no longer served" },
        AcquireError::Closed => Failure::Draining,
    }
}

/// Whether something of the response is still to come.
pub(crate) fn goes_on(response: &Response) -> bool {
    response.websocket.is_some() || matches!(response.body, Body::Stream(_))
}

/// Keeps lease and permit for as long as the response's body, or the WebSocket that it became, goes on.
pub(crate) fn hold(mut response: Response, lease: OwnedLease<Keeper>, permit: OwnedPermit) -> Response {
    if let Some(socket) = &mut response.websocket {
        socket.hold((lease, permit));
    } else if let Body::Stream(stream) = response.body {
        response.body = Body::Stream(Box::new(Held { stream, _lease: lease, _permit: permit }));
    }
    response
}

struct Held {
    stream: Box<dyn ByteStream>,
    _lease: OwnedLease<Keeper>,
    _permit: OwnedPermit,
}

impl ByteStream for Held {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.stream.poll_next(cx)
    }

    fn remaining(&self) -> Option<u64> {
        self.stream.remaining()
    }

    fn as_ranged(&mut self) -> Option<&mut dyn RangedBody> {
        self.stream.as_ranged()
    }
}
