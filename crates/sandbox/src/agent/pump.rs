//! Bytes in, bytes out. Who sends writes to the stream itself, if nothing waits to be sent: most requests are small, and one
//! that had to be handed to a task first would come later. What the stream does not take at once waits in the outbox for a task
//! that carries it; another task reads. Both end with the line, and the line with either.
//!
//! Whoever sends much (files, code) waits until there is room in the outbox; what is small and must not wait (a cancel, a ping)
//! goes in at once. What passages carry (`tunnel.rs`) comes behind all that, and is asked for when there is room for it.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use hearth_agent::{Answer, Decoder, LONGEST, Language, Request, encode};
use hearth_core::ByteSize;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};

use super::Line;
use super::calls::Closed;
use super::tunnel::Tunnel;
use crate::driver::ByteStream;
use crate::error::SandboxError;

/// Bytes that wait to be sent, before senders wait.
const ROOM: usize = 1 << 20;

const READ: usize = 64 << 10;

type Stream = Box<dyn ByteStream>;

pub(super) struct Outbox {
    queue: Mutex<Queue>,
    /// Something was not sent at once.
    left: Notify,
    /// The stream is to go on elsewhere.
    asked: Notify,
    room: Arc<Semaphore>,
}

struct Queue {
    /// None once the line is closed.
    writer: Option<WriteHalf<Stream>>,
    frames: VecDeque<Frame>,
    /// What it has to say comes when there are no frames.
    tunnel: Arc<Tunnel>,
    /// On its way; so many bytes of it are sent.
    sending: Option<Frame>,
    sent: usize,
    /// Who goes on with the stream: is told what came of a message that is not whole yet.
    heir: Option<oneshot::Sender<Vec<u8>>>,
}

struct Frame {
    bytes: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

pub(super) struct Greeted {
    pub(super) stream: Stream,
    /// May hold what came with the greeting.
    pub(super) decoder: Decoder,
    pub(super) languages: Vec<Language>,
}

/// Says hello, and waits for the answer to it. What was said to somebody before us is passed over.
pub(super) async fn greet(mut stream: Stream, hello: &Request, nonce: u64) -> Result<Greeted, String> {
    let mut bytes = Vec::new();
    encode(hello, &mut bytes).map_err(|error| error.to_string())?;
    stream.write_all(&bytes).await.map_err(|error| error.to_string())?;
    stream.flush().await.map_err(|error| error.to_string())?;
    let mut decoder = Decoder::new();
    let mut buffer = vec![0; READ];
    loop {
        while let Some(answer) = decoder.message::<Answer>().map_err(|error| error.to_string())? {
            match answer {
                Answer::Hello { version, nonce: theirs, languages } if theirs == nonce => {
                    return match version == hearth_agent::VERSION {
                        true => Ok(Greeted { stream, decoder, languages }),
                        false => {
                            Err(format!("it speaks version {version} of the protocol, not {}", hearth_agent::VERSION))
                        }
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

/// Carries both directions until one of them ends, then closes the line; or until the stream goes on elsewhere.
pub(super) async fn run(line: Arc<Line>, reader: ReadHalf<Stream>, mut decoder: Decoder) {
    // Reading can be given up at any time: what was read is taken apart and handed over at once.
    let reason = tokio::select! {
        reason = read(&line, reader, &mut decoder) => reason,
        reason = line.outbox.carry() => reason,
        reason = line.outbox.quit() => reason,
        reason = line.calls.until_closed() => reason,
    };
    let heir = line.outbox.lock().heir.take();
    match (reason, heir) {
        // An heir that does not wait any more has given it up.
        (Closed::Moved, Some(heir)) => drop(heir.send(decoder.rest().to_vec())),
        (reason, _) => line.close(reason),
    }
}

async fn read(line: &Arc<Line>, mut reader: ReadHalf<Stream>, decoder: &mut Decoder) -> Closed {
    let mut buffer = vec![0; READ];
    loop {
        loop {
            match decoder.message::<Answer>() {
                Ok(Some(answer)) => {
                    let heard = match answer {
                        Answer::Passage { passage, word } => line.tunnel.hear(line, passage, word),
                        answer => line.calls.deliver(answer),
                    };
                    if heard.is_err() {
                        return Closed::Lost("it said more than it may".to_owned());
                    }
                }
                Ok(None) => break,
                Err(error) => return Closed::Lost(format!("what it said cannot be read: {error}")),
            }
        }
        match reader.read(&mut buffer).await {
            Ok(0) => return Closed::Lost("it ended".to_owned()),
            Ok(count) => decoder.push(&buffer[..count]),
            Err(error) => return Closed::Lost(error.to_string()),
        }
    }
}

// === impl Outbox ===

impl Outbox {
    pub(super) fn new(writer: WriteHalf<Stream>, tunnel: Arc<Tunnel>) -> Self {
        let writer = Some(writer);
        let queue = Queue { writer, frames: VecDeque::new(), tunnel, sending: None, sent: 0, heir: None };
        let (left, asked) = (Notify::new(), Notify::new());
        Self { queue: Mutex::new(queue), left, asked, room: Arc::new(Semaphore::new(ROOM)) }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends when there is room.
    pub(super) async fn send(&self, request: &Request) -> Result<(), SandboxError> {
        let mut bytes = Vec::new();
        encode(request, &mut bytes).map_err(|_| SandboxError::TooLarge {
            what: "the request (code, stdin and env together)".to_owned(),
            limit: ByteSize(LONGEST as u64),
        })?;
        let size = u32::try_from(bytes.len().min(ROOM)).expect("a frame is far smaller than that");
        // Closed only with the line, whose reason the call then learns.
        let room = self.room.clone().acquire_many_owned(size).await.ok();
        self.put(Frame { bytes, _room: room });
        Ok(())
    }

    /// Sends something small without waiting.
    pub(super) fn send_now(&self, request: &Request) {
        self.put(Frame::small(request));
    }

    fn put(&self, frame: Frame) {
        let mut queue = self.lock();
        let is_idle = queue.is_idle();
        queue.frames.push_back(frame);
        if is_idle {
            self.begin(&mut queue);
        }
    }

    /// A passage has something to say.
    pub(super) fn nudge(&self) {
        let mut queue = self.lock();
        if queue.is_idle() {
            self.begin(&mut queue);
        }
    }

    /// Not where something waits: the carrier is at it already, and its waker must stay the one that is told.
    fn begin(&self, queue: &mut Queue) {
        if !matches!(queue.push(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(()))) {
            self.left.notify_one();
        }
    }

    /// Sends what was not sent at once, until that fails.
    async fn carry(&self) -> Closed {
        loop {
            self.left.notified().await;
            if let Err(error) = poll_fn(|context| self.lock().push(context)).await {
                return Closed::Lost(error.to_string());
            }
        }
    }

    /// Has somebody else go on with the stream.
    pub(super) fn leave(&self, heir: oneshot::Sender<Vec<u8>>) {
        self.lock().heir = Some(heir);
        self.asked.notify_one();
    }

    /// Once somebody else is to go on: sends what waits, and nothing after it.
    async fn quit(&self) -> Closed {
        self.asked.notified().await;
        // Under one lock: nothing that is only half sent may come in between.
        let sent = poll_fn(|context| {
            let mut queue = self.lock();
            let sent = ready!(queue.push(context));
            queue.writer = None;
            Poll::Ready(sent)
        });
        sent.await.map_or_else(|error| Closed::Lost(error.to_string()), |()| Closed::Moved)
    }

    /// Nothing is sent any more, and the agent is told so by the end of the stream.
    pub(super) fn close(&self) {
        self.room.close();
        let mut queue = self.lock();
        queue.writer = None;
        queue.heir = None;
        queue.clear();
    }
}

// === impl Frame ===

impl Frame {
    fn small(request: &Request) -> Self {
        let mut bytes = Vec::new();
        encode(request, &mut bytes).expect("what is sent so is small");
        Self { bytes, _room: None }
    }
}

// === impl Queue ===

impl Queue {
    /// Sends what the stream takes.
    fn push(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writer) = &mut self.writer else {
            self.clear();
            return Poll::Ready(Ok(()));
        };
        loop {
            if self.sending.is_none() {
                self.sending = self.frames.pop_front().or_else(|| self.tunnel.word().as_ref().map(Frame::small));
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

    /// Nobody is at sending something.
    fn is_idle(&self) -> bool {
        self.sending.is_none() && self.frames.is_empty()
    }

    fn clear(&mut self) {
        self.frames.clear();
        self.sending = None;
    }
}
