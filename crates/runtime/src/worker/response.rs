//! A response that leaves a worker: the wait for its head under the wall limit, and its body, which
//! reports its end to the worker.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hearth_core::{BodyError, ByteStream, Failure, LimitExceeded, LimitKind, RangedBody, RequestId, Response};
use tokio::sync::oneshot;
use tokio::time::Sleep;

use super::{Event, WorkerRef, WorkerShared};

/// Ready with the response's head. Dropping it earlier cancels the request.
pub struct ResponseFuture {
    shared: Arc<WorkerShared>,
    request: RequestId,
    /// None when it was ready.
    reply: Option<oneshot::Receiver<Result<Response, Failure>>>,
    deadline: Option<Instant>,
    /// Created when the first poll has to wait.
    alarm: Option<Pin<Box<Sleep>>>,
}

/// A response body that reports its end to the worker, and ends when no piece comes for too long.
pub(super) struct ObservedBody {
    stream: Box<dyn ByteStream>,
    worker: WorkerRef,
    request: RequestId,
    max_silence: Duration,
    alarm: Option<Pin<Box<Sleep>>>,
    is_finished: bool,
}

// === impl ResponseFuture ===

impl ResponseFuture {
    pub(super) fn new(
        shared: Arc<WorkerShared>,
        request: RequestId,
        reply: oneshot::Receiver<Result<Response, Failure>>,
        deadline: Option<Instant>,
    ) -> Self {
        Self { shared, request, reply: Some(reply), deadline, alarm: None }
    }
}

impl Future for ResponseFuture {
    type Output = Result<Response, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(reply) = &mut this.reply else {
            return Poll::Ready(Err(Failure::Internal { message: "polled after the end".into() }));
        };
        if let Poll::Ready(result) = Pin::new(reply).poll(cx) {
            this.reply = None;
            let dropped = |_| Err(Failure::Internal { message: "the request was dropped".into() });
            return Poll::Ready(result.unwrap_or_else(dropped));
        }
        let Some(deadline) = this.deadline else { return Poll::Pending };
        let alarm = this.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline.into())));
        if alarm.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        this.reply = None;
        let limit = this.shared.app.limits.wall;
        let exceeded = LimitExceeded::time(LimitKind::Wall, limit, limit);
        this.shared.post_later(Event::Expired { request: this.request, exceeded });
        Poll::Ready(Err(exceeded.into()))
    }
}

impl Drop for ResponseFuture {
    fn drop(&mut self) {
        if self.reply.is_some() {
            self.shared.post_later(Event::Disconnected { request: self.request });
        }
    }
}

// === impl ObservedBody ===

impl ObservedBody {
    pub(super) fn new(
        stream: Box<dyn ByteStream>,
        worker: WorkerRef,
        request: RequestId,
        max_silence: Duration,
    ) -> Self {
        Self { stream, worker, request, max_silence, alarm: None, is_finished: false }
    }

    /// Ready when no piece has come for too long.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.max_silence.is_zero() {
            return Poll::Pending;
        }
        let limit = self.max_silence;
        self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit))).as_mut().poll(cx)
    }
}

impl ByteStream for ObservedBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match self.stream.poll_next(cx) {
            Poll::Ready(Some(Ok(piece))) => {
                self.alarm = None;
                Poll::Ready(Some(Ok(piece)))
            }
            Poll::Ready(end) => {
                self.is_finished = true;
                self.worker.post_later(Event::StreamDone { request: self.request });
                Poll::Ready(end)
            }
            Poll::Pending => {
                if self.poll_silence(cx).is_pending() {
                    return Poll::Pending;
                }
                self.is_finished = true;
                let exceeded = LimitExceeded::time(LimitKind::StreamSilence, self.max_silence, self.max_silence);
                self.worker.post_later(Event::Expired { request: self.request, exceeded });
                Poll::Ready(Some(Err(BodyError::TimedOut)))
            }
        }
    }

    fn remaining(&self) -> Option<u64> {
        self.stream.remaining()
    }

    fn as_ranged(&mut self) -> Option<&mut dyn RangedBody> {
        self.stream.as_ranged()
    }
}

impl Drop for ObservedBody {
    fn drop(&mut self) {
        if !self.is_finished {
            self.worker.post_later(Event::Disconnected { request: self.request });
        }
    }
}
