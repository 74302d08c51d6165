//! A connection: passes messages between a stream of bytes and a socket's end, until either side closes.
//!
//! ```text
//! Open --the app closes or drops its end--> CloseSent (waits for the peer) --it answers-----> Closing
//!   |---the peer closes-------------------> CloseReceived (waits for the app) --it answers-> Closing
//!   |---a violation of the protocol, or no message for too long: a close frame is sent-----> Closing
//!   `---the stream ends, or nothing at all comes for too long--> lost
//! ```
//! `CloseSent`, `CloseReceived` and `Closing` have a time limit each. In `Closing` the app's end is dropped already, so that none of
//! the app's memory is held for a peer that does not read.
//!
//! A poll does a limited amount of work and then yields to other connections ([`Budget`]), however much has arrived.
//!
//! Invariant: nothing is read while too much waits for the app or for the peer. So a peer can make the process hold one message and
//! what the queues of both directions may hold, no more.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::BytesMut;
use hearth_core::SocketEnd;
use hearth_core::memory::Charge;
use hearth_core::websocket::{Close, SocketEvent, SocketFault};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::Instant;

use crate::Role;
use crate::budget::Budget;
use crate::config::Config;
use crate::deadline::Deadline;
use crate::decoder::{Decoded, Decoder, Received};
use crate::encoder::Encoder;
use crate::protocol_error::ProtocolError;
use crate::write_queue::FrameQueue;

mod closing;

/// Bytes that may wait to be written before the app is held back.
const HIGH_WATER: usize = 64 * 1024;
/// How much is read at once where the length of the next data is unknown.
const MIN_READ: usize = 4 * 1024;
/// The same within a long frame.
const MAX_READ: usize = 64 * 1024;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With close frames from both sides.
    Closed,
    Failed(SocketFault),
}

#[derive(Debug)]
pub struct Connection<S> {
    stream: S,
    config: Config,
    /// Read and not yet decoded.
    read_buf: BytesMut,
    write_queue: FrameQueue,
    decoder: Decoder,
    /// For the message that the decoder collects.
    charge: Option<Charge>,
    encoder: Encoder,
    phase: Phase,
    /// When anything was last received.
    last_received: Instant,
    /// When a message was last received or sent.
    last_message: Instant,
    ping: Ping,
    deadline: Deadline,
}

#[derive(Debug)]
enum Phase {
    Open(Box<SocketEnd>),
    CloseSent { end: Box<SocketEnd>, until: Instant },
    CloseReceived { end: Box<SocketEnd>, close: Close, until: Instant },
    Closing { with: Ended, step: Step, until: Instant },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Writing,
    /// What the peer still sends is read and discarded: closing a stream with unread input would reset it, and the close frame might
    /// be lost.
    Lingering,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ping {
    NotSent,
    Sent,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    All,
    Some,
}

/// Whether a step has made progress, so that the other steps must be polled again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Some,
    None,
    /// There is more to do, but the budget is used up.
    Yield,
}

// === impl Connection ===

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// A connection after its handshake. `read_buf` has what was read behind the handshake.
    pub fn new(stream: S, read_buf: BytesMut, role: Role, end: Box<SocketEnd>, config: Config) -> Self {
        let now = Instant::now();
        Self {
            stream,
            read_buf,
            write_queue: FrameQueue::default(),
            decoder: Decoder::new(role, config.max_message).with(config.deflate),
            encoder: Encoder::new(role).with(config.deflate),
            charge: end.open_charge(),
            config,
            phase: Phase::Open(end),
            last_received: now,
            last_message: now,
            ping: Ping::NotSent,
            deadline: Deadline::default(),
        }
    }

    /// Runs to its end.
    pub async fn run(mut self) -> Ended {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// Sends a close frame to the peer, without the app. The app is notified when the peer has answered.
    pub fn go_away(&mut self, close: &Close) {
        if let Phase::Open(_) = self.phase {
            self.send_close(close);
        }
    }

    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        let mut budget = Budget::for_poll();
        loop {
            let taken = self.take_from_app(cx, &mut budget);
            let before = self.write_queue.len();
            let written = match self.write_queue.poll_write(cx, Pin::new(&mut self.stream)) {
                Poll::Ready(Ok(())) => Written::All,
                Poll::Ready(Err(_)) => return Poll::Ready(self.lose()),
                Poll::Pending => Written::Some,
            };
            if before >= HIGH_WATER && self.write_queue.len() < before {
                // The peer reads, if slowly, and nothing was read from it meanwhile.
                self.last_received = Instant::now();
            }
            if let Phase::Closing { with, step, .. } = &mut self.phase {
                let with = *with;
                match step {
                    Step::Writing if written == Written::All => match Pin::new(&mut self.stream).poll_shutdown(cx) {
                        Poll::Ready(Ok(())) if matches!(with, Ended::Failed(_)) => *step = Step::Lingering,
                        // After both close frames nothing more is received.
                        Poll::Ready(_) => return Poll::Ready(with),
                        Poll::Pending => {}
                    },
                    Step::Writing | Step::Lingering => {}
                }
            }
            let read = match self.read(cx, &mut budget) {
                Ok(read) => read,
                Err(_) => return Poll::Ready(self.lose()),
            };
            match (taken, read) {
                (Progress::Yield, _) | (_, Progress::Yield) => cx.waker().wake_by_ref(),
                (Progress::Some, _) | (_, Progress::Some) => continue,
                (Progress::None, Progress::None) => {}
            }
            match self.deadline.poll(cx, self.next_deadline()) {
                Poll::Ready(()) => {
                    if let Some(ended) = self.on_deadline(Instant::now()) {
                        return Poll::Ready(ended);
                    }
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Takes messages from the app, as long as the peer reads what was sent before.
    fn take_from_app(&mut self, cx: &mut Context<'_>, budget: &mut Budget) -> Progress {
        let mut progress = Progress::None;
        loop {
            if budget.is_spent() && !matches!(self.phase, Phase::Closing { .. }) {
                return Progress::Yield;
            }
            let end = match &mut self.phase {
                Phase::Open(end) | Phase::CloseSent { end, .. } | Phase::CloseReceived { end, .. } => end,
                Phase::Closing { .. } => return progress,
            };
            let next = if self.write_queue.len() < HIGH_WATER {
                end.receiver.poll_next(cx)
            } else {
                end.receiver.poll_last(cx)
            };
            let Poll::Ready(Some(event)) = next else { return progress };
            progress = Progress::Some;
            match (event, &mut self.phase) {
                (SocketEvent::Message(message), Phase::Open(_) | Phase::CloseReceived { .. }) => {
                    self.last_message = Instant::now();
                    budget.spend(message.len());
                    self.encoder.message(message, &mut self.write_queue);
                }
                (SocketEvent::Close(close), Phase::Open(_)) => self.send_close(&close),
                (SocketEvent::Failed(_), Phase::Open(_)) => self.send_close(&Close::new(1001, "the app is gone")),
                (SocketEvent::Close(close), Phase::CloseReceived { .. }) => {
                    self.encoder.close(&close, &mut self.write_queue);
                    self.end(Ended::Closed);
                }
                (SocketEvent::Failed(_), Phase::CloseReceived { .. }) => self.echo_close(),
                // The close frame was sent.
                (_, Phase::CloseSent { .. } | Phase::Closing { .. }) => {}
            }
        }
    }

    /// Decodes what was received, and reads more.
    fn read(&mut self, cx: &mut Context<'_>, budget: &mut Budget) -> io::Result<Progress> {
        loop {
            match &mut self.phase {
                // Nothing is read after the peer's close frame.
                Phase::CloseReceived { .. } => return Ok(Progress::None),
                Phase::Closing { step: Step::Writing, .. } => return Ok(Progress::None),
                Phase::Closing { step: Step::Lingering, .. } => self.read_buf.clear(),
                Phase::Open(end) => {
                    if self.write_queue.len() >= HIGH_WATER {
                        return Ok(Progress::None);
                    }
                    if end.sender.poll_ready(cx).is_pending() {
                        // Nothing is received because nothing is read.
                        self.last_received = Instant::now();
                        return Ok(Progress::None);
                    }
                    let decoded = self.decoder.decode_with_budget(&mut self.read_buf, budget);
                    match decoded.and_then(|decoded| self.recharge().map(|()| decoded)) {
                        Ok(Decoded::Received(received)) => {
                            self.receive(received);
                            return Ok(Progress::Some);
                        }
                        Ok(Decoded::NeedsInput) => {}
                        Ok(Decoded::Yield) => return Ok(Progress::Yield),
                        Err(violation) => {
                            self.reject(violation);
                            return Ok(Progress::Some);
                        }
                    }
                }
                Phase::CloseSent { .. } => match self.decoder.decode_with_budget(&mut self.read_buf, budget) {
                    Ok(Decoded::Received(Received::Close(close))) => {
                        self.notify_app(|end| end.sender.close(close));
                        self.end(Ended::Closed);
                        return Ok(Progress::Some);
                    }
                    // Sent before the peer has received the close frame.
                    Ok(Decoded::Received(_)) => continue,
                    Ok(Decoded::NeedsInput) => {}
                    Ok(Decoded::Yield) => return Ok(Progress::Yield),
                    Err(violation) => {
                        self.fail(violation.fault());
                        return Ok(Progress::Some);
                    }
                },
            }
            if budget.is_spent() {
                return Ok(Progress::Yield);
            }
            let want = (self.decoder.missing().min(MAX_READ as u64) as usize).max(MIN_READ);
            if self.read_buf.capacity() - self.read_buf.len() < want / 4 {
                self.read_buf.reserve(want);
            }
            // The future has no state: making it anew for each poll loses nothing.
            match pin!(self.stream.read_buf(&mut self.read_buf)).poll(cx) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Poll::Ready(Ok(count)) => {
                    budget.spend(count);
                    self.last_received = Instant::now();
                    self.ping = Ping::NotSent;
                }
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => {
                    if self.read_buf.is_empty() && self.read_buf.capacity() > MIN_READ {
                        self.read_buf = BytesMut::new();
                    }
                    return Ok(Progress::None);
                }
            }
        }
    }

    /// Charges what the decoder holds to the app.
    fn recharge(&mut self) -> Result<(), ProtocolError> {
        let held = self.decoder.held();
        match self.charge.as_mut().map(|charge| charge.try_set(held)) {
            Some(Err(full)) => Err(ProtocolError::NoMemory { limit: full.limit }),
            Some(Ok(())) | None => Ok(()),
        }
    }

    fn receive(&mut self, received: Received) {
        match received {
            Received::Message(message) => {
                self.last_message = Instant::now();
                // An app's end that was dropped is noticed in the other direction.
                self.notify_app(|end| {
                    end.sender.push(message);
                });
            }
            Received::Ping(payload) => self.encoder.pong(&payload, &mut self.write_queue),
            Received::Pong(_) => {}
            Received::Close(close) => {
                self.notify_app(|end| end.sender.close(close.clone()));
                let until = Instant::now() + self.config.close_timeout;
                self.change(|end| Phase::CloseReceived { end, close, until });
            }
        }
    }

    fn next_deadline(&self) -> Instant {
        let pinging = match self.ping {
            Ping::NotSent => self.last_received + self.config.ping_after.min(self.config.lost_after),
            Ping::Sent => self.last_received + self.config.lost_after,
        };
        match &self.phase {
            Phase::Open(end) if end.silence.is_zero() => pinging,
            Phase::Open(end) => pinging.min(self.last_message + end.silence),
            Phase::CloseSent { until, .. } | Phase::CloseReceived { until, .. } | Phase::Closing { until, .. } => {
                *until
            }
        }
    }

    fn on_deadline(&mut self, now: Instant) -> Option<Ended> {
        match &mut self.phase {
            Phase::Open(end) => {
                let silence = end.silence;
                if !silence.is_zero() && now >= self.last_message + silence {
                    let fault = SocketFault::Silent { limit: silence };
                    self.encoder.close(&Close::new(1001, &fault.to_string()), &mut self.write_queue);
                    self.fail(fault);
                } else if now >= self.last_received + self.config.lost_after {
                    return Some(self.lose());
                } else if self.ping == Ping::NotSent && now >= self.last_received + self.config.ping_after {
                    self.ping = Ping::Sent;
                    self.encoder.ping(b"", &mut self.write_queue);
                }
            }
            Phase::CloseSent { .. } => {
                self.fail(SocketFault::Unanswered);
                return Some(Ended::Failed(SocketFault::Unanswered));
            }
            Phase::CloseReceived { .. } => self.echo_close(),
            Phase::Closing { with, .. } => return Some(*with),
        }
        None
    }
}

#[cfg(test)]
#[path = "connection/tests.rs"]
mod tests;
