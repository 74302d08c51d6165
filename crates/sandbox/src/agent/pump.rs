//! Bytes in, bytes out. One task per agent reads, another writes; both end with the line, and the line with either.
//!
//! What is sent waits in the outbox. Whoever sends much (files, code) waits until there is room in it; what is small and
//! must not wait (a cancel, a ping) goes in at once.

use std::sync::Arc;

use hearth_agent::{Answer, Decoder, LONGEST, Language, Request, encode};
use hearth_core::ByteSize;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::Line;
use super::calls::Closed;
use crate::driver::ByteStream;
use crate::error::SandboxError;

/// Bytes that wait to be sent, before senders wait.
const ROOM: usize = 1 << 20;

const READ: usize = 64 << 10;

type Stream = Box<dyn ByteStream>;

pub(super) struct Outbox {
    frames: mpsc::UnboundedSender<Frame>,
    room: Arc<Semaphore>,
}

pub(super) struct Frame {
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

/// Carries both directions until one of them ends, then closes the line.
pub(super) async fn run(line: Arc<Line>, stream: Stream, decoder: Decoder, frames: mpsc::UnboundedReceiver<Frame>) {
    let (reader, writer) = tokio::io::split(stream);
    let reason = tokio::select! {
        reason = read(&line, reader, decoder) => reason,
        reason = write(writer, frames) => reason,
        reason = line.calls.until_closed() => reason,
    };
    line.close(reason);
}

async fn read(line: &Line, mut reader: ReadHalf<Stream>, mut decoder: Decoder) -> Closed {
    let mut buffer = vec![0; READ];
    loop {
        loop {
            match decoder.message::<Answer>() {
                Ok(Some(answer)) => {
                    if line.calls.deliver(answer).is_err() {
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

async fn write(mut writer: WriteHalf<Stream>, mut frames: mpsc::UnboundedReceiver<Frame>) -> Closed {
    while let Some(frame) = frames.recv().await {
        if let Err(error) = writer.write_all(&frame.bytes).await {
            return Closed::Lost(error.to_string());
        }
        if frames.is_empty() {
            if let Err(error) = writer.flush().await {
                return Closed::Lost(error.to_string());
            }
        }
    }
    // The outbox goes with the line, and the line outlives this.
    Closed::Lost("nobody speaks to it any more".to_owned())
}

// === impl Outbox ===

impl Outbox {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Frame>) {
        let (frames, receiver) = mpsc::unbounded_channel();
        (Self { frames, room: Arc::new(Semaphore::new(ROOM)) }, receiver)
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
        // The task that writes is gone only when the line is closed, too.
        let _gone = self.frames.send(Frame { bytes, _room: room });
        Ok(())
    }

    /// Sends something small without waiting.
    pub(super) fn send_now(&self, request: &Request) {
        let mut bytes = Vec::new();
        encode(request, &mut bytes).expect("what is sent so is small");
        let _gone = self.frames.send(Frame { bytes, _room: None });
    }

    pub(super) fn close(&self) {
        self.room.close();
    }
}
