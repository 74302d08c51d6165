//! A request's body on its way from a stream to the app. The client is given as much room again as the app's pipe took,
//! so a slow app holds its client back, and nobody else.
//!
//! States: as [`body_in`](crate::body_in), but that nothing is ever thrown away for a connection's sake: when nobody
//! reads any more, `h2` gives the room back by itself and, after the answer, tells the client to stop.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use hearth_core::pipe::{DEFAULT_CAPACITY, PipeWriter, Room, pipe};
use hearth_core::{Body, BodyError};
use tokio::time::Instant;

use crate::body_in::Stop;
use crate::config::Config;
use crate::continuation::{Continuation, Upload as AppEnd};
use crate::head::{BodyFraming, Head};
use crate::reject::Reject;
use crate::timer::Timer;

pub struct Upload {
    /// Gone when the body has ended, one way or the other; so is the pipe.
    source: Option<(RecvStream, PipeWriter)>,
    continuation: Option<Arc<Continuation>>,
    received: u64,
    limit: u64,
    timer: Timer,
}

impl Upload {
    /// Starts on the body behind `head`. The limit is asked for only where there is one.
    pub fn begin(recv: RecvStream, head: &Head, limit: impl FnOnce() -> u64) -> Result<(Self, Body), Reject> {
        let mut this = Self { source: None, continuation: None, received: 0, limit: 0, timer: Timer::default() };
        let length = match head.framing {
            BodyFraming::None => return Ok((this, Body::Empty)),
            BodyFraming::Length(length) => Some(length),
            BodyFraming::Chunked => None,
        };
        this.limit = limit();
        if length.is_some_and(|length| length > this.limit) {
            return Err(Reject::BodyTooLarge { limit: this.limit });
        }
        let (writer, reader) = pipe(DEFAULT_CAPACITY, length);
        if head.expects_continue {
            this.continuation = Some(Arc::default());
        }
        this.source = Some((recv, writer));
        let reader = AppEnd::new(reader, this.continuation.clone());
        Ok((this, Body::Stream(Box::new(reader))))
    }

    /// Before the head of a response that may go on reading the request: afterwards it would be too late for a 100.
    pub fn send_continue(&mut self, respond: &mut SendResponse<Bytes>) {
        if self.continuation.take().is_some() {
            let mut head = http::Response::new(());
            *head.status_mut() = http::StatusCode::CONTINUE;
            // Should it fail, the stream has failed, which is noticed where it is read.
            let _ = respond.send_informational(head);
        }
    }

    /// Whether the client waits for a 100 that the app now wants it to have.
    pub fn poll_continue(&self, cx: &Context<'_>) -> Poll<()> {
        match &self.continuation {
            Some(continuation) => continuation.poll_wanted(cx),
            None => Poll::Pending,
        }
    }

    /// Takes what comes. Ready only when the exchange cannot go on.
    pub fn poll(&mut self, cx: &mut Context<'_>, config: &Config) -> Poll<Stop> {
        loop {
            let Some((recv, pipe)) = &mut self.source else { return Poll::Pending };
            match pipe.poll_ready(cx) {
                Poll::Ready(Room::Gone) => {
                    self.source = None;
                    return Poll::Pending;
                }
                Poll::Ready(_) => {}
                Poll::Pending => {
                    self.timer.stop();
                    return Poll::Pending;
                }
            }
            match recv.poll_data(cx) {
                Poll::Ready(Some(Ok(piece))) => {
                    self.timer.stop();
                    self.continuation = None;
                    self.received += piece.len() as u64;
                    if self.received > self.limit {
                        return Poll::Ready(self.abandon(Reject::BodyTooLarge { limit: self.limit }));
                    }
                    // It fails only for more than was received.
                    let _ = recv.flow_control().release_capacity(piece.len());
                    pipe.write(piece);
                }
                // Trailers, if any, are nobody's.
                Poll::Ready(None) => {
                    pipe.close();
                    self.source = None;
                    return Poll::Pending;
                }
                Poll::Ready(Some(Err(_))) => {
                    self.fail(BodyError::Truncated);
                    return Poll::Ready(Stop::Gone);
                }
                Poll::Pending if self.continuation.is_some() => return Poll::Pending,
                Poll::Pending => {
                    return match self.timer.poll(cx, config.body_timeout, Instant::now) {
                        Poll::Ready(()) => Poll::Ready(self.abandon(Reject::BodyTimeout)),
                        Poll::Pending => Poll::Pending,
                    };
                }
            }
        }
    }

    fn abandon(&mut self, reject: Reject) -> Stop {
        self.fail(match reject {
            Reject::BodyTooLarge { limit } => BodyError::TooLarge { limit },
            _ => BodyError::TimedOut,
        });
        Stop::Reject(reject)
    }

    fn fail(&mut self, error: BodyError) {
        if let Some((_, pipe)) = self.source.take() {
            pipe.fail(error);
        }
    }
}
