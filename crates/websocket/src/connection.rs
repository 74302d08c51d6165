//! A stream of bytes joined to a socket's end: messages one way and the other until somebody says goodbye.
//!
//! ```text
//! Open --the app says goodbye, or goes--> Waiting (for the peer's) --it comes----------> Ending
//!   |---the peer says goodbye-----------> Answering (the app's turn) --it has answered--> Ending
//!   |---the peer breaks a rule, or no message for too long: it is told so---------------> Ending
//!   `---the stream ends, or nothing at all comes for too long--> lost
//! ```
//! `Waiting`, `Answering` and `Ending` have a time limit each. In `Ending` the app's end is gone already, so that nothing of
//! the app's is held for a peer that does not read.
//!
//! A poll does so much and then gives way to other connections ([`Budget`]), however much has come.
//!
//! Invariant: nothing is read while too much waits for the app or for the peer, so a peer can make us hold one message and
//! what the two directions may hold, no more.

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
use crate::clock::Clock;
use crate::config::Config;
use crate::decoder::{Decoded, Decoder, Received};
use crate::encoder::Encoder;
use crate::outbox::Outbox;
use crate::violation::Violation;

mod goodbye;

/// Bytes that may wait to be written before the app is held back.
const HIGH_WATER: usize = 64 * 1024;
/// What is read at once where nothing is known of what comes.
const READ: usize = 4 * 1024;
/// The same within a long frame.
const MOST_READ: usize = 64 * 1024;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With goodbyes from both sides.
    Closed,
    Failed(SocketFault),
}

#[derive(Debug)]
pub struct Connection<S> {
    stream: S,
    config: Config,
    /// What was read and not yet understood.
    inbox: BytesMut,
    outbox: Outbox,
    decoder: Decoder,
    /// For the message that the decoder collects.
    charge: Option<Charge>,
    encoder: Encoder,
    phase: Phase,
    /// When anything last came.
    heard: Instant,
    /// When a message last came or went.
    spoke: Instant,
    ping: Ping,
    clock: Clock,
}

#[derive(Debug)]
enum Phase {
    Open(Box<SocketEnd>),
    Waiting { end: Box<SocketEnd>, until: Instant },
    Answering { end: Box<SocketEnd>, goodbye: Close, until: Instant },
    Ending { with: Ended, step: Step, until: Instant },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Writing,
    /// What the peer still sends is read and thrown away: a stream that is closed with unread input is reset, and our last
    /// words might be lost with it.
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

/// Whether something happened that others may wait for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Some,
    None,
    /// There is more to do, and others are to have the thread first.
    GivesWay,
}

// === impl Connection ===

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// After the handshake. `inbox` is what was read behind it already.
    pub fn new(stream: S, inbox: BytesMut, role: Role, end: Box<SocketEnd>, config: Config) -> Self {
        let now = Instant::now();
        Self {
            stream,
            inbox,
            outbox: Outbox::default(),
            decoder: Decoder::new(role, config.max_message).with(config.deflate),
            encoder: Encoder::new(role).with(config.deflate),
            charge: end.open_charge(),
            config,
            phase: Phase::Open(end),
            heard: now,
            spoke: now,
            ping: Ping::NotSent,
            clock: Clock::default(),
        }
    }

    /// Runs to its end.
    pub async fn run(mut self) -> Ended {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// Says goodbye to the peer, over the app's head. The app hears of it when the peer has answered.
    pub fn go_away(&mut self, close: &Close) {
        if let Phase::Open(_) = self.phase {
            self.say_goodbye(close);
        }
    }

    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended> {
        let mut budget = Budget::of_poll();
        loop {
            let taken = self.take_from_app(cx, &mut budget);
            let before = self.outbox.len();
            let written = match self.outbox.poll_write(cx, Pin::new(&mut self.stream)) {
                Poll::Ready(Ok(())) => Written::All,
                Poll::Ready(Err(_)) => return Poll::Ready(self.lose()),
                Poll::Pending => Written::Some,
            };
            if before >= HIGH_WATER && self.outbox.len() < before {
                // It reads, if slowly, and nothing was read from it meanwhile.
                self.heard = Instant::now();
            }
            if let Phase::Ending { with, step, .. } = &mut self.phase {
                let with = *with;
                match step {
                    Step::Writing if written == Written::All => match Pin::new(&mut self.stream).poll_shutdown(cx) {
                        Poll::Ready(Ok(())) if matches!(with, Ended::Failed(_)) => *step = Step::Lingering,
                        // After two goodbyes nothing more comes.
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
                (Progress::GivesWay, _) | (_, Progress::GivesWay) => cx.waker().wake_by_ref(),
                (Progress::Some, _) | (_, Progress::Some) => continue,
                (Progress::None, Progress::None) => {}
            }
            match self.clock.poll(cx, self.deadline()) {
                Poll::Ready(()) => {
                    if let Some(ended) = self.time_is_up(Instant::now()) {
                        return Poll::Ready(ended);
                    }
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Takes what the app sends, as long as the peer takes what was sent before.
    fn take_from_app(&mut self, cx: &mut Context<'_>, budget: &mut Budget) -> Progress {
        let mut progress = Progress::None;
        loop {
            if budget.is_spent() && !matches!(self.phase, Phase::Ending { .. }) {
                return Progress::GivesWay;
            }
            let end = match &mut self.phase {
                Phase::Open(end) | Phase::Waiting { end, .. } | Phase::Answering { end, .. } => end,
                Phase::Ending { .. } => return progress,
            };
            let next =
                if self.outbox.len() < HIGH_WATER { end.receiver.poll_next(cx) } else { end.receiver.poll_last(cx) };
            let Poll::Ready(Some(event)) = next else { return progress };
            progress = Progress::Some;
            match (event, &mut self.phase) {
                (SocketEvent::Message(message), Phase::Open(_) | Phase::Answering { .. }) => {
                    self.spoke = Instant::now();
                    budget.spend(message.len());
                    self.encoder.message(message, &mut self.outbox);
                }
                (SocketEvent::Close(close), Phase::Open(_)) => self.say_goodbye(&close),
                (SocketEvent::Failed(_), Phase::Open(_)) => self.say_goodbye(&Close::new(1001, "the app is gone")),
                (SocketEvent::Close(close), Phase::Answering { .. }) => {
                    self.encoder.close(&close, &mut self.outbox);
                    self.end(Ended::Closed);
                }
                (SocketEvent::Failed(_), Phase::Answering { .. }) => self.answer_for_the_app(),
                // Our side has said its last word.
                (_, Phase::Waiting { .. } | Phase::Ending { .. }) => {}
            }
        }
    }

    /// Understands what has come, and reads more.
    fn read(&mut self, cx: &mut Context<'_>, budget: &mut Budget) -> io::Result<Progress> {
        loop {
            match &mut self.phase {
                // What follows a goodbye is not read.
                Phase::Answering { .. } => return Ok(Progress::None),
                Phase::Ending { step: Step::Writing, .. } => return Ok(Progress::None),
                Phase::Ending { step: Step::Lingering, .. } => self.inbox.clear(),
                Phase::Open(end) => {
                    if self.outbox.len() >= HIGH_WATER {
                        return Ok(Progress::None);
                    }
                    if end.sender.poll_ready(cx).is_pending() {
                        // That nothing comes is our own doing.
                        self.heard = Instant::now();
                        return Ok(Progress::None);
                    }
                    let decoded = self.decoder.decode_within(&mut self.inbox, budget);
                    match decoded.and_then(|decoded| self.recharge().map(|()| decoded)) {
                        Ok(Decoded::Received(received)) => {
                            self.receive(received);
                            return Ok(Progress::Some);
                        }
                        Ok(Decoded::NeedsInput) => {}
                        Ok(Decoded::GivesWay) => return Ok(Progress::GivesWay),
                        Err(violation) => {
                            self.refuse(violation);
                            return Ok(Progress::Some);
                        }
                    }
                }
                Phase::Waiting { .. } => match self.decoder.decode_within(&mut self.inbox, budget) {
                    Ok(Decoded::Received(Received::Close(close))) => {
                        self.tell(|end| end.sender.close(close));
                        self.end(Ended::Closed);
                        return Ok(Progress::Some);
                    }
                    // What it sent before it had heard us.
                    Ok(Decoded::Received(_)) => continue,
                    Ok(Decoded::NeedsInput) => {}
                    Ok(Decoded::GivesWay) => return Ok(Progress::GivesWay),
                    Err(violation) => {
                        self.fail(violation.fault());
                        return Ok(Progress::Some);
                    }
                },
            }
            if budget.is_spent() {
                return Ok(Progress::GivesWay);
            }
            let want = (self.decoder.wants().min(MOST_READ as u64) as usize).max(READ);
            if self.inbox.capacity() - self.inbox.len() < want / 4 {
                self.inbox.reserve(want);
            }
            // The future has no state: making it anew for each poll loses nothing.
            match pin!(self.stream.read_buf(&mut self.inbox)).poll(cx) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Poll::Ready(Ok(count)) => {
                    budget.spend(count);
                    self.heard = Instant::now();
                    self.ping = Ping::NotSent;
                }
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => {
                    if self.inbox.is_empty() && self.inbox.capacity() > READ {
                        self.inbox = BytesMut::new();
                    }
                    return Ok(Progress::None);
                }
            }
        }
    }

    /// Charges what the decoder holds to the app.
    fn recharge(&mut self) -> Result<(), Violation> {
        let held = self.decoder.held();
        match self.charge.as_mut().map(|charge| charge.try_set(held)) {
            Some(Err(full)) => Err(Violation::NoMemory { limit: full.limit }),
            Some(Ok(())) | None => Ok(()),
        }
    }

    fn receive(&mut self, received: Received) {
        match received {
            Received::Message(message) => {
                self.spoke = Instant::now();
                // An app that is gone has said so on its own direction.
                self.tell(|end| {
                    end.sender.push(message);
                });
            }
            Received::Ping(payload) => self.encoder.pong(&payload, &mut self.outbox),
            Received::Pong(_) => {}
            Received::Close(goodbye) => {
                self.tell(|end| end.sender.close(goodbye.clone()));
                let until = Instant::now() + self.config.close_timeout;
                self.change(|end| Phase::Answering { end, goodbye, until });
            }
        }
    }

    fn deadline(&self) -> Instant {
        let pinging = match self.ping {
            Ping::NotSent => self.heard + self.config.ping_after.min(self.config.lost_after),
            Ping::Sent => self.heard + self.config.lost_after,
        };
        match &self.phase {
            Phase::Open(end) if end.silence.is_zero() => pinging,
            Phase::Open(end) => pinging.min(self.spoke + end.silence),
            Phase::Waiting { until, .. } | Phase::Answering { until, .. } | Phase::Ending { until, .. } => *until,
        }
    }

    fn time_is_up(&mut self, now: Instant) -> Option<Ended> {
        match &mut self.phase {
            Phase::Open(end) => {
                let silence = end.silence;
                if !silence.is_zero() && now >= self.spoke + silence {
                    let fault = SocketFault::Silent { limit: silence };
                    self.encoder.close(&Close::new(1001, &fault.to_string()), &mut self.outbox);
                    self.fail(fault);
                } else if now >= self.heard + self.config.lost_after {
                    return Some(self.lose());
                } else if self.ping == Ping::NotSent && now >= self.heard + self.config.ping_after {
                    self.ping = Ping::Sent;
                    self.encoder.ping(b"", &mut self.outbox);
                }
            }
            Phase::Waiting { .. } => {
                self.fail(SocketFault::Unanswered);
                return Some(Ended::Failed(SocketFault::Unanswered));
            }
            Phase::Answering { .. } => self.answer_for_the_app(),
            Phase::Ending { with, .. } => return Some(*with),
        }
        None
    }
}

#[cfg(test)]
#[path = "connection/tests.rs"]
mod tests;
