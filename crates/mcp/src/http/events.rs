//! Messages as server-sent events, as they come, each with a name after which a client can ask for the rest. A word now and
//! then keeps proxies and clients from thinking that nobody is there while a long command runs.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream, Response};
use rmcp::model::ServerJsonRpcMessage;
use tokio::time::{Instant, Sleep};

use super::line::Presence;
use super::reply::{EVENTS, respond};
use super::track::{EventId, Reader};

const SILENCE: Duration = Duration::from_secs(15);
const WORD: &[u8] = b":\n\n";

/// What a stream begins with, so that the response begins even if nothing is there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// An event without a message: a client that loses its connection before the first message can ask for that. Older
    /// clients take it for a message that is broken.
    Event,
    Comment,
}

struct Events {
    reader: Reader,
    silence: Pin<Box<Sleep>>,
    /// Not written yet.
    opening: Option<Opening>,
    _presence: Presence,
}

/// What the reader has not read yet, until there is no more to come.
pub(super) fn events(reader: Reader, opening: Opening, presence: Presence) -> Response {
    reader.write_events();
    let silence = Box::pin(tokio::time::sleep(SILENCE));
    let events = Events { reader, silence, opening: Some(opening), _presence: presence };
    respond(200, EVENTS, Body::Stream(Box::new(events)))
}

impl ByteStream for Events {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match self.opening.take() {
            Some(Opening::Event) => {
                let text = format!("id: {}\ndata: \n\n", self.reader.last());
                return Poll::Ready(Some(Ok(Bytes::from(text))));
            }
            Some(Opening::Comment) => return Poll::Ready(Some(Ok(Bytes::from_static(WORD)))),
            None => {}
        }
        if let Poll::Ready(message) = self.reader.poll_recv(cx) {
            self.silence.as_mut().reset(Instant::now() + SILENCE);
            return Poll::Ready(message.map(|message| event(self.reader.last(), &message)));
        }
        match self.silence.as_mut().poll(cx) {
            Poll::Ready(()) => {
                self.silence.as_mut().reset(Instant::now() + SILENCE);
                Poll::Ready(Some(Ok(Bytes::from_static(WORD))))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

fn event(id: EventId, message: &ServerJsonRpcMessage) -> Result<Bytes, BodyError> {
    let mut text = format!("event: message\nid: {id}\ndata: ").into_bytes();
    serde_json::to_writer(&mut text, message).map_err(|error| BodyError::Failed(error.to_string()))?;
    text.extend_from_slice(b"\n\n");
    Ok(Bytes::from(text))
}
