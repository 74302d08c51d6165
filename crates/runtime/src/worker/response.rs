//! A response on its way out of a worker: waiting for its head under the wall limit, and watching its body, so that the
//! worker learns how it ended.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hearth_core::{BodyError, ByteStream, Divisible, Failure, LimitExceeded, LimitKind, Request, RequestId, Response};
use tokio::sync::oneshot;
use tokio::time::Sleep;

use super::core::Answer;
use super::event::Event;
use super::{Arrival, Entry, Handled, Link, Shared};

/// Ready with the response's head. Dropping it earlier cancels the request.
pub struct ResponseFuture {
    shared: Arc<Shared>,
    request: RequestId,
    reply: Awaited,
    limit: Duration,
    deadline: Option<Instant>,
    /// Made when there is something to wait for.
    alarm: Option<Pin<Box<Sleep>>>,
}

/// States: `Coming -> Over`.
enum Awaited {
    Coming(oneshot::Receiver<Result<Response, Failure>>),
    Over,
}

/// A response body that tells the worker when it is over, and ends when nothing comes for too long.
pub(super) struct Watched {
    stream: Box<dyn ByteStream>,
    link: Link,
    request: RequestId,
    silence: Duration,
    alarm: Option<Pin<Box<Sleep>>>,
    over: bool,
}

// === impl ResponseFuture ===

impl ResponseFuture {
    /// Gives the worker a request.
    pub(super) fn start(shared: &Arc<Shared>, request: Request, now: Instant) -> Handled {
        let id = request.id;
        let limit = shared.app.limits.wall;
        let deadline = (!limit.is_zero()).then(|| now + limit);
        let arrival = Arrival { now, deadline };
        let reply = match shared.fetch_now(request, arrival) {
            Entry::Handled(Answer::Now(answer), now) => return Handled::Answered(answer, now),
            Entry::Handled(Answer::Later(later), _) => later,
            Entry::Refused(request) => {
                let (reply, mut later) = oneshot::channel();
                shared.post(Event::Fetch { request: Box::new(request), arrival, reply });
                if let Some(answer) = shared.seat.look_for(|| later.try_recv().ok()) {
                    return Handled::Answered(answer, Instant::now());
                }
                later
            }
        };
        let reply = Awaited::Coming(reply);
        Handled::Coming(Self { shared: shared.clone(), request: id, reply, limit, deadline, alarm: None })
    }
}

impl Future for ResponseFuture {
    type Output = Result<Response, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Awaited::Coming(reply) = &mut this.reply else {
            return Poll::Ready(Err(Failure::Internal { message: "polled after the end".into() }));
        };
        if let Poll::Ready(result) = Pin::new(reply).poll(cx) {
            this.reply = Awaited::Over;
            let dropped = |_| Err(Failure::Internal { message: "the request was dropped".into() });
            return Poll::Ready(result.unwrap_or_else(dropped));
        }
        let Some(deadline) = this.deadline else { return Poll::Pending };
        let alarm = this.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline.into())));
        if alarm.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        this.reply = Awaited::Over;
        let exceeded = LimitExceeded::time(LimitKind::Wall, this.limit, this.limit);
        this.shared.post_later(Event::Expired { request: this.request, exceeded });
        Poll::Ready(Err(exceeded.into()))
    }
}

impl Drop for ResponseFuture {
    fn drop(&mut self) {
        if matches!(self.reply, Awaited::Coming(_)) {
            self.shared.post_later(Event::Disconnected { request: self.request });
        }
    }
}

// === impl Watched ===

impl Watched {
    pub(super) fn new(stream: Box<dyn ByteStream>, link: Link, request: RequestId, silence: Duration) -> Self {
        Self { stream, link, request, silence, alarm: None, over: false }
    }

    /// Ready when nothing has come for too long.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.silence.is_zero() {
            return Poll::Pending;
        }
        let silence = self.silence;
        self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep(silence))).as_mut().poll(cx)
    }
}

impl ByteStream for Watched {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match self.stream.poll_next(cx) {
            Poll::Ready(Some(Ok(piece))) => {
                self.alarm = None;
                Poll::Ready(Some(Ok(piece)))
            }
            Poll::Ready(end) => {
                self.over = true;
                self.link.post_later(Event::StreamDone { request: self.request });
                Poll::Ready(end)
            }
            Poll::Pending => {
                if self.poll_silence(cx).is_pending() {
                    return Poll::Pending;
                }
                self.over = true;
                let exceeded = LimitExceeded::time(LimitKind::StreamSilence, self.silence, self.silence);
                self.link.post_later(Event::Expired { request: self.request, exceeded });
                Poll::Ready(Some(Err(BodyError::TimedOut)))
            }
        }
    }

    fn remaining(&self) -> Option<u64> {
        self.stream.remaining()
    }

    fn divisible(&mut self) -> Option<&mut dyn Divisible> {
        self.stream.divisible()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.over {
            self.link.post_later(Event::Disconnected { request: self.request });
        }
    }
}
