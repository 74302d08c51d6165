//! Hops: requests that this gateway has received and another process of the server answers, over a Unix socket and HTTP/1.1.
//!
//! ```text
//! request -> request.rs: as bytes -> connection_pool.rs: an idle connection, else a new one -> upload.rs: sent
//!   response <- download.rs: its body, while the request's may still be sent <- response.rs: its head <-'
//! ```
//! The other side is a gateway as well ([`Listener::Hop`](crate::Listener)), which believes this one about the client and the
//! url. Limits, compression, counts and the access log are applied on this side; failures become responses on the other side,
//! and are passed on as such.
//!
//! Invariants:
//! - a request of which anything was sent is not sent again: it may have crashed the other process;
//! - a connection is used again only within [`REUSE_WINDOW`] of its last request, and the other side closes none before [`PEER_KEEP_ALIVE`]
//!   have passed, not even in a drain: so no side closes a connection that the other is about to use;
//! - the task that waits for the response or reads its body drives everything: dropping either cancels the request on the other
//!   side.

mod connection_pool;
mod download;
mod request;
mod response;
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

use self::connection_pool::ConnectionPool;
use self::download::HopDownload;
use self::request::OutgoingRequest;
use self::response::{InvalidResponse, MAX_HEAD, ResponseHead};
use crate::buffered_stream::{BufferedStream, READ_SIZE};
use crate::stream::ClientStream;

/// The header that tells the other gateway what to do with a request; the sender's own format. Clients cannot send it: like all
/// of Hearth's own headers it is removed from their requests.
pub const HOP_HEADER: &str = "x-hearth-hop";

/// A connection is used again only within this time of its last request.
const REUSE_WINDOW: Duration = Duration::from_secs(1);
/// How long the other side keeps a connection after a request.
pub(crate) const PEER_KEEP_ALIVE: Duration = Duration::from_secs(4);
/// Before connecting again, where the other side's accept queue is full.
const CONNECT_RETRY_DELAY: Duration = Duration::from_millis(5);
/// How much of a body is read at once.
const MAX_BODY_READ: usize = 64 * 1024;

/// A client of another process of the server.
pub struct Hop {
    socket: PathBuf,
    pool: Arc<ConnectionPool>,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum HopError {
    #[error("no process listens at {}: {source}", socket.display())]
    ConnectFailed { socket: PathBuf, source: io::Error },
    /// The process crashed, or was stopped, before it answered.
    #[error("the connection ended before the answer: {0}")]
    ConnectionLost(#[source] io::Error),
    #[error("no answer came within {} seconds", .0.as_secs())]
    TimedOut(Duration),
    #[error(transparent)]
    InvalidResponse(#[from] InvalidResponse),
}

/// How an attempt to send failed.
enum AttemptError {
    /// Nothing was sent: the connection was closed before.
    Unsent,
    For(HopError),
}

// === impl Hop ===

impl Hop {
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into(), pool: Arc::default() }
    }

    /// Sends a request and waits for the head of its response, for at most `time`. `directions` go into [`HOP_HEADER`].
    pub async fn send(&self, request: Request, directions: &str, time: Duration) -> Result<Response, HopError> {
        let answer = self.send_with_time(OutgoingRequest::new(request, directions));
        timeout(time, answer).await.unwrap_or(Err(HopError::TimedOut(time)))
    }

    async fn send_with_time(&self, mut outgoing: OutgoingRequest) -> Result<Response, HopError> {
        while let Some(mut stream) = self.pool.take() {
            match self.attempt(&mut stream, &mut outgoing).await {
                Ok((answer, sent)) => return self.receive(stream, outgoing, answer, sent),
                Err(AttemptError::Unsent) => {}
                Err(AttemptError::For(error)) => return Err(error),
            }
        }
        let mut stream = BufferedStream::new(ClientStream::Unix(self.connect().await?), Duration::ZERO);
        match self.attempt(&mut stream, &mut outgoing).await {
            Ok((answer, sent)) => self.receive(stream, outgoing, answer, sent),
            Err(AttemptError::Unsent) => Err(HopError::ConnectionLost(io::ErrorKind::BrokenPipe.into())),
            Err(AttemptError::For(error)) => Err(error),
        }
    }

    async fn connect(&self) -> Result<UnixStream, HopError> {
        loop {
            match UnixStream::connect(&self.socket).await {
                Ok(stream) => return Ok(stream),
                // The process listens, and its accept queue is full.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(CONNECT_RETRY_DELAY).await,
                Err(source) => return Err(HopError::ConnectFailed { socket: self.socket.clone(), source }),
            }
        }
    }

    /// Sends the request and receives the head of the response. Also gives the time when sending began.
    async fn attempt(
        &self,
        stream: &mut BufferedStream,
        outgoing: &mut OutgoingRequest,
    ) -> Result<(ResponseHead, Instant), AttemptError> {
        let began = Instant::now();
        std::mem::swap(&mut stream.write_queue, &mut outgoing.write_queue);
        if poll_fn(|cx| stream.poll_write(cx)).await.is_err() {
            std::mem::swap(&mut stream.write_queue, &mut outgoing.write_queue);
            return Err(AttemptError::Unsent);
        }
        let answer = poll_fn(|cx| {
            // If this fails, there may still be a response: one that does not need the body.
            let _ = outgoing.upload.poll(cx, stream);
            poll_answer(cx, stream, outgoing).map_err(AttemptError::For)
        });
        Ok((answer.await?, began))
    }

    /// Makes a response of its head and the connection.
    fn receive(
        &self,
        stream: BufferedStream,
        outgoing: OutgoingRequest,
        answer: ResponseHead,
        sent: Instant,
    ) -> Result<Response, HopError> {
        let ResponseHead { status, reason, headers, framing, keep, .. } = answer;
        let mut response = Response { status, reason, headers, body: Body::Empty, websocket: None };
        if status == 101 {
            let (read_buf, stream) = stream.into_parts();
            // The other gateway enforces the limit of silence.
            let (here, there) = socket_pair(Duration::ZERO);
            let socket = Connection::new(stream, read_buf, Role::Client, Box::new(there), Config::default());
            tokio::spawn(socket.run());
            response.websocket = Some(Box::new(here));
            return Ok(response);
        }
        let return_to_pool = keep.then(|| self.pool.return_to_pool(sent));
        response.body = HopDownload::begin(stream, outgoing.upload, framing, return_to_pool)?;
        Ok(response)
    }
}

/// The head of the final response, when it has arrived.
fn poll_answer(
    cx: &mut Context<'_>,
    stream: &mut BufferedStream,
    outgoing: &mut OutgoingRequest,
) -> Poll<Result<ResponseHead, HopError>> {
    loop {
        match response::parse(&stream.read_buf, outgoing.expected)? {
            Some(answer) => {
                let _ = stream.read_buf.split_to(answer.length);
                match answer.status {
                    100 => {
                        outgoing.upload.release();
                        // The body is sent before anything is waited for.
                        let _ = outgoing.upload.poll(cx, stream);
                    }
                    101 | 200.. => return Poll::Ready(Ok(answer)),
                    _ => {}
                }
            }
            None if stream.read_buf.len() >= MAX_HEAD => return Poll::Ready(Err(InvalidResponse::Head.into())),
            None => match ready!(stream.poll_fill(cx, READ_SIZE)) {
                Ok(1..) => {}
                Ok(0) => return Poll::Ready(Err(HopError::ConnectionLost(io::ErrorKind::UnexpectedEof.into()))),
                Err(error) => return Poll::Ready(Err(HopError::ConnectionLost(error))),
            },
        }
    }
}
