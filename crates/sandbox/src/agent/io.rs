//! Reading and writing the agent's stream. A sender writes to the stream itself if nothing is
//! queued: most requests are small, and passing them to a task first would cost a wakeup. What the
//! stream does not take at once is queued and written by a task; another task reads. Both end with
//! the connection, and the connection with either.
//!
//! A large request (files, code) waits for room in the queue; a small one that must not wait (a
//! cancel, a ping) is queued at once. Tunnel messages (`tunnel.rs`) come after all that, and are
//! made only when they can be sent.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use hearth_core::ByteSize;
use hearth_sandbox_agent::{AgentReply, AgentRequest, FrameDecoder, Language, MAX_MESSAGE_BYTES, encode};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};

use super::AgentConnection;
use super::calls::Closed;
use super::tunnel::Tunnel;
use crate::driver::BidiStream;
use crate::error::SandboxError;

/// Bytes that may be queued before senders wait.
const MAX_QUEUED_BYTES: usize = 1 << 20;

const READ_BUFFER: usize = 64 << 10;

type OutputStream = Box<dyn BidiStream>;

pub(super) struct WriteQueue {
    queue: Mutex<Queue>,
    /// Something was queued.
    unsent: Notify,
    /// The stream is to be exported.
    handover: Notify,
    room: Arc<Semaphore>,
}

struct Queue {
    /// None once the connection is closed.
    writer: Option<WriteHalf<OutputStream>>,
    frames: VecDeque<Frame>,
    /// Asked for a message when there are no frames.
    tunnel: Arc<Tunnel>,
    /// The frame that is being written; `sent` bytes of it are.
    sending: Option<Frame>,
    sent: usize,
    /// Set for an export: receives the bytes of an incomplete message.
    successor: Option<oneshot::Sender<Vec<u8>>>,
}

struct Frame {
    bytes: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

pub(super) struct HandshakeResult {
    pub(super) stream: OutputStream,
    /// May hold bytes that came after the answer to the handshake.
    pub(super) decoder: FrameDecoder,
    pub(super) languages: Vec<Language>,
}

/// Sends `Hello`, and waits for its answer. Answers to an earlier client are skipped.
pub(super) async fn handshake(
    mut stream: OutputStream,
    hello: &AgentRequest,
    nonce: u64,
) -> Result<HandshakeResult, String> {
    let mut bytes = Vec::new();
    encode(hello, &mut bytes).map_err(|error| error.to_string())?;
    stream.write_all(&bytes).await.map_err(|error| error.to_string())?;
    stream.flush().await.map_err(|error| error.to_string())?;
    let mut decoder = FrameDecoder::new();
    let mut buffer = vec![0; READ_BUFFER];
    loop {
        while let Some(answer) = decoder.message::<AgentReply>().map_err(|error| error.to_string())? {
            match answer {
                AgentReply::Hello { version, nonce: theirs, languages } if theirs == nonce => {
                    return match version == hearth_sandbox_agent::VERSION {
                        true => Ok(HandshakeResult { stream, decoder, languages }),
                        false => Err(format!(
                            "it speaks version {version} of the protocol, not {}",
                            hearth_sandbox_agent::VERSION
                        )),
                    };
                }
                _ => {}
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) => return Err("it ended before it said hello".to_owned()),
            Ok(count) => decoder.push(&buffer[..count]),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Reads and writes until one of them ends, then closes the connection; or until the stream is
/// exported.
pub(super) async fn run(connection: Arc<AgentConnection>, reader: ReadHalf<OutputStream>, mut decoder: FrameDecoder) {
    // Reading is cancel-safe: what was read is decoded and delivered without an await.
    let reason = tokio::select! {
        reason = read(&connection, reader, &mut decoder) => reason,
        reason = connection.write_queue.flush() => reason,
        reason = connection.write_queue.hand_over_when_asked() => reason,
        reason = connection.calls.until_closed() => reason,
    };
    let successor = connection.write_queue.lock().successor.take();
    match (reason, successor) {
        // Fails where the export has timed out.
        (Closed::Moved, Some(successor)) => drop(successor.send(decoder.rest().to_vec())),
        (reason, _) => connection.close(reason),
    }
}

async fn read(
    connection: &Arc<AgentConnection>,
    mut reader: ReadHalf<OutputStream>,
    decoder: &mut FrameDecoder,
) -> Closed {
    let mut buffer = vec![0; READ_BUFFER];
    loop {
        loop {
            match decoder.message::<AgentReply>() {
                Ok(Some(answer)) => {
                    let delivered = match answer {
                        AgentReply::Tunnel { conn: passage, message: word } => {
                            connection.tunnel.receive(connection, passage, word)
                        }
                        answer => connection.calls.deliver(answer),
                    };
                    if delivered.is_err() {
                        return Closed::Lost("it broke the protocol".to_owned());
                    }
                }
                Ok(None) => break,
                Err(error) => return Closed::Lost(format!("its messages cannot be read: {error}")),
            }
        }
        match reader.read(&mut buffer).await {
            Ok(0) => return Closed::Lost("it ended".to_owned()),
            Ok(count) => decoder.push(&buffer[..count]),
            Err(error) => return Closed::Lost(error.to_string()),
        }
    }
}

// === impl WriteQueue ===

impl WriteQueue {
    pub(super) fn new(writer: WriteHalf<OutputStream>, tunnel: Arc<Tunnel>) -> Self {
        let writer = Some(writer);
        let queue = Queue { writer, frames: VecDeque::new(), tunnel, sending: None, sent: 0, successor: None };
        let (unsent, handover) = (Notify::new(), Notify::new());
        Self { queue: Mutex::new(queue), unsent, handover, room: Arc::new(Semaphore::new(MAX_QUEUED_BYTES)) }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends when there is room in the queue.
    pub(super) async fn send(&self, request: &AgentRequest) -> Result<(), SandboxError> {
        let mut bytes = Vec::new();
        encode(request, &mut bytes).map_err(|_| SandboxError::TooLarge {
            what: "the request (code, stdin and env together)".to_owned(),
            limit: ByteSize(MAX_MESSAGE_BYTES as u64),
        })?;
        let size = u32::try_from(bytes.len().min(MAX_QUEUED_BYTES)).expect("a frame is far smaller than that");
        // Closed only with the connection, whose reason the call then gets.
        let room = self.room.clone().acquire_many_owned(size).await.ok();
        self.enqueue(Frame { bytes, _room: room });
        Ok(())
    }

    /// Sends a small message without waiting.
    pub(super) fn send_now(&self, request: &AgentRequest) {
        self.enqueue(Frame::small(request));
    }

    fn enqueue(&self, frame: Frame) {
        let mut queue = self.lock();
        let is_idle = queue.is_idle();
        queue.frames.push_back(frame);
        if is_idle {
            self.try_write(&mut queue);
        }
    }

    /// A tunnel connection has a message to send.
    pub(super) fn request_write(&self) {
        let mut queue = self.lock();
        if queue.is_idle() {
            self.try_write(&mut queue);
        }
    }

    /// Only called on an idle queue: otherwise the writing task is at it, and its waker must stay
    /// registered.
    fn try_write(&self, queue: &mut Queue) {
        if !matches!(queue.push(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(()))) {
            self.unsent.notify_one();
        }
    }

    /// Writes what is queued, until that fails.
    async fn flush(&self) -> Closed {
        loop {
            self.unsent.notified().await;
            if let Err(error) = poll_fn(|context| self.lock().push(context)).await {
                return Closed::Lost(error.to_string());
            }
        }
    }

    /// Stops writing between two messages and hands the stream over.
    pub(super) fn hand_over(&self, successor: oneshot::Sender<Vec<u8>>) {
        self.lock().successor = Some(successor);
        self.handover.notify_one();
    }

    /// Waits for [`hand_over`](Self::hand_over), sends what is queued, and nothing after it.
    async fn hand_over_when_asked(&self) -> Closed {
        self.handover.notified().await;
        // The writer is taken under the same lock: no message may come in between.
        let sent = poll_fn(|context| {
            let mut queue = self.lock();
            let sent = ready!(queue.push(context));
            queue.writer = None;
            Poll::Ready(sent)
        });
        sent.await.map_or_else(|error| Closed::Lost(error.to_string()), |()| Closed::Moved)
    }

    /// Stops writing. The end of the stream tells the agent.
    pub(super) fn close(&self) {
        self.room.close();
        let mut queue = self.lock();
        queue.writer = None;
        queue.successor = None;
        queue.clear();
    }
}

// === impl Frame ===

impl Frame {
    fn small(request: &AgentRequest) -> Self {
        let mut bytes = Vec::new();
        encode(request, &mut bytes).expect("small messages are below the limit");
        Self { bytes, _room: None }
    }
}

// === impl Queue ===

impl Queue {
    /// Writes as much as the stream takes.
    fn push(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writer) = &mut self.writer else {
            self.clear();
            return Poll::Ready(Ok(()));
        };
        loop {
            if self.sending.is_none() {
                self.sending =
                    self.frames.pop_front().or_else(|| self.tunnel.next_message().as_ref().map(Frame::small));
                self.sent = 0;
            }
            let Some(frame) = &self.sending else { break };
            match ready!(Pin::new(&mut *writer).poll_write(context, &frame.bytes[self.sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.sent += count,
            }
            if self.sent == frame.bytes.len() {
                self.sending = None;
            }
        }
        Pin::new(writer).poll_flush(context)
    }

    /// Whether nothing is queued or being written.
    fn is_idle(&self) -> bool {
        self.sending.is_none() && self.frames.is_empty()
    }

    fn clear(&mut self) {
        self.frames.clear();
        self.sending = None;
    }
}
