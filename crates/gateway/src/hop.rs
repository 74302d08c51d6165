//! The hop: a request that this front took and another process of ours answers, over a Unix socket and HTTP/1.1.
//!
//! ```text
//! request -> parcel.rs: as bytes -> idle.rs: a connection that waits, else a new one -> upload.rs: out
//!   response <- download.rs: its body, while the request's may still go out <- answer.rs: its head <-'
//! ```
//! The other side is a front as well ([`Listener::Hop`](crate::Listener)), which takes the word of this one for who the client
//! is and what it asked for. Limits, compression, counts and the access log are this side's; failures are the other's, and
//! pass as the responses that it made of them.
//!
//! Invariants:
//! - a request of which anything was sent is not sent again: it may be what brought the other process down;
//! - a connection is used again only within [`FRESH`] of its last request, and the other side closes none before [`KEPT`]
//!   have passed, in a drain neither: so nobody closes what the other is about to use;
//! - all is driven by whoever waits for the answer or reads its body: who drops either ends the other side's work.

mod answer;
mod download;
mod idle;
mod parcel;
mod upload;

use std::future::poll_fn;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hearth_core::websocket::socket_pair;
use hearth_core::{Body, Request, Response};
use hearth_websocket::{Config, Connection, Role};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

use self::answer::{Answer, InvalidResponse, MAX_HEAD};
use self::download::Download;
use self::idle::Idle;
use self::parcel::Parcel;
use crate::stream::Stream;
use crate::wire::{READ, Wire};

/// The header that says what the other front is to do with a request: its words are those of who sends it. Clients cannot
/// send it: it is Hearth's own, and goes.
pub const HOP_HEADER: &str = "x-hearth-hop";

/// How old the last request of a connection may be that is used again.
const FRESH: Duration = Duration::from_secs(1);
/// How long the other side keeps a connection after a request.
pub(crate) const KEPT: Duration = Duration::from_secs(4);
/// Before the next try, where more connections wait to be accepted than may.
const CROWD_PAUSE: Duration = Duration::from_millis(5);
/// What is read at once of a body.
const MOST_READ: usize = 64 * 1024;

/// A way to another process.
pub struct Hop {
    socket: PathBuf,
    idle: Arc<Idle>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum HopError {
    #[error("nobody listens at {}: {source}", socket.display())]
    ConnectFailed { socket: PathBuf, source: io::Error },
    /// It went down, or was stopped, before it answered.
    #[error("the connection ended before the answer: {0}")]
    ConnectionLost(#[source] io::Error),
    #[error("no answer came within {} seconds", .0.as_secs())]
    TimedOut(Duration),
    #[error(transparent)]
    InvalidResponse(#[from] InvalidResponse),
}

/// How an attempt to send failed.
enum Miss {
    /// Nothing was sent: the connection was closed before.
    Unsent,
    For(HopError),
}

// === impl Hop ===

impl Hop {
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into(), idle: Arc::default() }
    }

    /// Sends a request and waits for the head of its answer, for as long as `patience`. The other front learns `errand`.
    pub async fn send(&self, request: Request, errand: &str, patience: Duration) -> Result<Response, HopError> {
        let answer = self.send_with_time(Parcel::new(request, errand));
        timeout(patience, answer).await.unwrap_or(Err(HopError::TimedOut(patience)))
    }

    async fn send_with_time(&self, mut parcel: Parcel) -> Result<Response, HopError> {
        while let Some(mut wire) = self.idle.take() {
            match self.attempt(&mut wire, &mut parcel).await {
                Ok((answer, sent)) => return self.receive(wire, parcel, answer, sent),
                Err(Miss::Unsent) => {}
                Err(Miss::For(error)) => return Err(error),
            }
        }
        let mut wire = Wire::new(Stream::Unix(self.connect().await?), Duration::ZERO);
        match self.attempt(&mut wire, &mut parcel).await {
            Ok((answer, sent)) => self.receive(wire, parcel, answer, sent),
            Err(Miss::Unsent) => Err(HopError::ConnectionLost(io::ErrorKind::BrokenPipe.into())),
            Err(Miss::For(error)) => Err(error),
        }
    }

    async fn connect(&self) -> Result<UnixStream, HopError> {
        loop {
            match UnixStream::connect(&self.socket).await {
                Ok(stream) => return Ok(stream),
                // Somebody is there, and will come to it.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(CROWD_PAUSE).await,
                Err(source) => return Err(HopError::ConnectFailed { socket: self.socket.clone(), source }),
            }
        }
    }

    /// Sends over `wire`, up to the head of the answer. Also says when the request began to be sent.
    async fn attempt(&self, wire: &mut Wire, parcel: &mut Parcel) -> Result<(Answer, Instant), Miss> {
        let began = Instant::now();
        std::mem::swap(&mut wire.outbox, &mut parcel.outbox);
        if poll_fn(|cx| wire.poll_write(cx)).await.is_err() {
            std::mem::swap(&mut wire.outbox, &mut parcel.outbox);
            return Err(Miss::Unsent);
        }
        let answer = poll_fn(|cx| {
            // Should it fail, there may be an answer all the same: one that does not want the body.
            let _ = parcel.upload.poll(cx, wire);
            poll_answer(cx, wire, parcel).map_err(Miss::For)
        });
        Ok((answer.await?, began))
    }

    /// From the head of an answer to a response.
    fn receive(&self, wire: Wire, parcel: Parcel, answer: Answer, sent: Instant) -> Result<Response, HopError> {
        let Answer { status, reason, headers, framing, keep, .. } = answer;
        let mut response = Response { status, reason, headers, body: Body::Empty, websocket: None };
        if status == 101 {
            let (inbox, stream) = wire.into_parts();
            // Whoever is silent for too long is told so by the other front.
            let (here, there) = socket_pair(Duration::ZERO);
            let socket = Connection::new(stream, inbox, Role::Client, Box::new(there), Config::default());
            tokio::spawn(socket.run());
            response.websocket = Some(Box::new(here));
            return Ok(response);
        }
        let way_back = keep.then(|| self.idle.way_back(sent));
        response.body = Download::begin(wire, parcel.upload, framing, way_back)?;
        Ok(response)
    }
}

/// The head of the final answer, when it is there.
fn poll_answer(cx: &mut Context<'_>, wire: &mut Wire, parcel: &mut Parcel) -> Poll<Result<Answer, HopError>> {
    loop {
        match answer::parse(&wire.inbox, parcel.wants)? {
            Some(answer) => {
                let _ = wire.inbox.split_to(answer.length);
                match answer.status {
                    100 => {
                        parcel.upload.release();
                        // It goes on before anything is waited for.
                        let _ = parcel.upload.poll(cx, wire);
                    }
                    101 | 200.. => return Poll::Ready(Ok(answer)),
                    _ => {}
                }
            }
            None if wire.inbox.len() >= MAX_HEAD => return Poll::Ready(Err(InvalidResponse::Head.into())),
            None => match ready!(wire.poll_fill(cx, READ)) {
                Ok(1..) => {}
                Ok(0) => return Poll::Ready(Err(HopError::ConnectionLost(io::ErrorKind::UnexpectedEof.into()))),
                Err(error) => return Poll::Ready(Err(HopError::ConnectionLost(error))),
            },
        }
    }
}
