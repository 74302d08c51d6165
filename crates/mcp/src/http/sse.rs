//! A response body of server-sent events: one event per message, each with an id after which a client can resume. A comment
//! is sent at intervals, so that proxies and clients keep the connection open while a long command runs.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream, Response};
use rmcp::model::ServerJsonRpcMessage;
use tokio::time::{Instant, Sleep};

use super::event_stream::{EventId, StreamReader};
use super::response::{EVENTS, respond};
use super::session_conn::ActivityGuard;

const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
const KEEP_ALIVE_COMMENT: &[u8] = b":\n\n";

/// The first bytes of the body, so that the response begins before the first message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamPrelude {
    /// An event id without a message: a client that loses its connection before the first message can resume after it.
    /// Clients of older protocols take it for a broken message.
    EmptyEvent,
    Comment,
}

struct EventBody {
    reader: StreamReader,
    keep_alive: Pin<Box<Sleep>>,
    /// `None` once written.
    prelude: Option<StreamPrelude>,
    _activity: ActivityGuard,
}

/// Sends what the reader has not read yet, until the stream ends.
pub(super) fn event_response(reader: StreamReader, prelude: StreamPrelude, activity: ActivityGuard) -> Response {
    reader.write_events();
    let keep_alive = Box::pin(tokio::time::sleep(KEEP_ALIVE_INTERVAL));
    let events = EventBody { reader, keep_alive, prelude: Some(prelude), _activity: activity };
    respond(200, EVENTS, Body::Stream(Box::new(events)))
}

impl ByteStream for EventBody {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        match self.prelude.take() {
            Some(StreamPrelude::EmptyEvent) => {
                let text = format!("id: {}\ndata: \n\n", self.reader.last());
                return Poll::Ready(Some(Ok(Bytes::from(text))));
            }
            Some(StreamPrelude::Comment) => return Poll::Ready(Some(Ok(Bytes::from_static(KEEP_ALIVE_COMMENT)))),
            None => {}
        }
        if let Poll::Ready(message) = self.reader.poll_recv(cx) {
            self.keep_alive.as_mut().reset(Instant::now() + KEEP_ALIVE_INTERVAL);
            return Poll::Ready(message.map(|message| event(self.reader.last(), &message)));
        }
        match self.keep_alive.as_mut().poll(cx) {
            Poll::Ready(()) => {
                self.keep_alive.as_mut().reset(Instant::now() + KEEP_ALIVE_INTERVAL);
                Poll::Ready(Some(Ok(Bytes::from_static(KEEP_ALIVE_COMMENT))))
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
