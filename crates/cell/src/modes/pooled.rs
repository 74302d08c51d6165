//! `pooled` and `pinned`: a warm worker of the pool, which stays warm. The lease lasts to the end of the response's body;
//! what `waitUntil` keeps running after that keeps the worker from being evicted.

use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream, Failure, RangedBody, Response};
use hearth_pool::{AcquireError, Acquisition, KeyedPool, OwnedLease, OwnedPermit};

use crate::worker_manager::WorkerManager;

/// A lease, and whether the caller had to wait for it: then no worker was warm. Waits for a slot for `queue_timeout`; a worker
/// that is starting has in addition the time that its modules may take.
pub(crate) async fn acquire(
    workers: &KeyedPool<WorkerManager>,
    queue_timeout: Duration,
) -> Result<(OwnedLease<WorkerManager>, bool), Failure> {
    let queued = match workers.acquire_or_queue().map_err(acquire_failure)? {
        Acquisition::Leased(lease) => return Ok((lease, false)),
        Acquisition::Queued(queued) => queued,
    };
    let start_limit = workers.key().app().limits.module_wall;
    let timeout = if start_limit.is_zero() { Duration::MAX } else { queue_timeout + start_limit };
    match tokio::time::timeout(timeout, queued.lease()).await {
        Ok(lease) => Ok((lease.map_err(acquire_failure)?, true)),
        Err(_) => Err(Failure::Capacity { reason: "waited too long for a worker" }),
    }
}

pub(crate) fn acquire_failure(error: AcquireError<Failure>) -> Failure {
    match error {
        AcquireError::Failed(failure) => failure,
        AcquireError::Panicked => Failure::Internal { message: "a worker's start did not come to its end".into() },
        AcquireError::Retired => Failure::Capacity { reason: "this version is no longer served" },
        AcquireError::Closed => Failure::Draining,
    }
}

/// Whether the response has a body or a WebSocket that goes on after its head.
pub(crate) fn is_streaming(response: &Response) -> bool {
    response.websocket.is_some() || matches!(response.body, Body::Stream(_))
}

/// Holds lease and permit for as long as the response's body, or the WebSocket that it became, goes on.
pub(crate) fn hold_lease(mut response: Response, lease: OwnedLease<WorkerManager>, permit: OwnedPermit) -> Response {
    if let Some(socket) = &mut response.websocket {
        socket.hold((lease, permit));
    } else if let Body::Stream(stream) = response.body {
        response.body = Body::Stream(Box::new(LeasedBody { stream, _lease: lease, _permit: permit }));
    }
    response
}

struct LeasedBody {
    stream: Box<dyn ByteStream>,
    _lease: OwnedLease<WorkerManager>,
    _permit: OwnedPermit,
}

impl ByteStream for LeasedBody {
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
