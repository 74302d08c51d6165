//! Receives a request's body from a stream for the app. The client's window grows by as much as the app's pipe takes, so a slow
//! app holds back its own client only.
//!
//! States: as in [`body_in`](crate::body_in), except that nothing is discarded to keep the connection: when the app reads no more,
//! `h2` returns the window by itself and, after the answer, tells the client to stop.

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
use crate::expect_continue::{AppBody, ContinueSignal};
use crate::head::{BodyFraming, Head};
use crate::lazy_deadline::LazyDeadline;
use crate::reject::Reject;

pub struct H2Upload {
    /// None when the body has ended, complete or not.
    source: Option<(RecvStream, PipeWriter)>,
    signal: Option<Arc<ContinueSignal>>,
    received: u64,
    limit: u64,
    timer: LazyDeadline,
}

impl H2Upload {
    /// Starts on the body behind `head`. `limit` is called only where there is a body.
    pub fn begin(recv: RecvStream, head: &Head, limit: impl FnOnce() -> u64) -> Result<(Self, Body), Reject> {
        let mut this = Self { source: None, signal: None, received: 0, limit: 0, timer: LazyDeadline::default() };
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
            this.signal = Some(Arc::default());
        }
        this.source = Some((recv, writer));
        let reader = AppBody::new(reader, this.signal.clone());
        Ok((this, Body::Stream(Box::new(reader))))
    }

    /// Sends `100 Continue` if the client waits for it. To be called before the head of a response that may go on reading the
    /// request: after the head it would be too late.
    pub fn send_continue(&mut self, respond: &mut SendResponse<Bytes>) {
        if self.signal.take().is_some() {
            let mut head = http::Response::new(());
            *head.status_mut() = http::StatusCode::CONTINUE;
            // If this fails, the stream has failed, which its next read reports.
            let _ = respond.send_informational(head);
        }
    }

    /// Ready when the client waits for `100 Continue` and the app has asked for the body.
    pub fn poll_continue(&self, cx: &Context<'_>) -> Poll<()> {
        match &self.signal {
            Some(signal) => signal.poll_wanted(cx),
            None => Poll::Pending,
        }
    }

    /// Receives the body. Ready only when the exchange must end.
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
                    self.signal = None;
                    self.received += piece.len() as u64;
                    if self.received > self.limit {
                        return Poll::Ready(self.abandon(Reject::BodyTooLarge { limit: self.limit }));
                    }
                    // Fails only for more than was received.
                    let _ = recv.flow_control().release_capacity(piece.len());
                    pipe.write(piece);
                }
                // Trailers are ignored.
                Poll::Ready(None) => {
                    pipe.close();
                    self.source = None;
                    return Poll::Pending;
                }
                Poll::Ready(Some(Err(_))) => {
                    self.fail(BodyError::Truncated);
                    return Poll::Ready(Stop::Gone);
                }
                Poll::Pending if self.signal.is_some() => return Poll::Pending,
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
