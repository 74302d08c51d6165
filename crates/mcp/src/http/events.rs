//! Messages as server-sent events, as they come. A word now and then keeps proxies and clients from thinking that nobody is
//! there while a long command runs.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream, Response};
use rmcp::model::ServerJsonRpcMessage;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, Sleep};

use super::line::Presence;
use super::reply::{EVENTS, respond};

const SILENCE: Duration = Duration::from_secs(15);

struct Events {
    first: Option<ServerJsonRpcMessage>,
    rest: Receiver<ServerJsonRpcMessage>,
    silence: Pin<Box<Sleep>>,
    begun: bool,
    _presence: Presence,
}

/// `first`, and what comes after it, until there is no more to come.
pub(super) fn events(
    first: Option<ServerJsonRpcMessage>,
    rest: Receiver<ServerJsonRpcMessage>,
    presence: Presence,
) -> Response {
    let silence = Box::pin(tokio::time::sleep(SILENCE));
    let events = Events { first, rest, silence, begun: false, _presence: presence };
    respond(200, EVENTS, Body::Stream(Box::new(events)))
}

impl ByteStream for Events {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if !self.begun {
            // So that the response begins even if nothing is there yet.
            self.begun = true;
            return Poll::Ready(Some(Ok(Bytes::from_static(b":\n\n"))));
        }
        let message = match self.first.take() {
            Some(message) => Poll::Ready(Some(message)),
            None => self.rest.poll_recv(cx),
        };
        if let Poll::Ready(message) = message {
            self.silence.as_mut().reset(Instant::now() + SILENCE);
            return Poll::Ready(message.map(|message| event(&message)));
        }
        match self.silence.as_mut().poll(cx) {
            Poll::Ready(()) => {
                self.silence.as_mut().reset(Instant::now() + SILENCE);
                Poll::Ready(Some(Ok(Bytes::from_static(b":\n\n"))))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

fn event(message: &ServerJsonRpcMessage) -> Result<Bytes, BodyError> {
    let mut text = b"event: message\ndata: ".to_vec();
    serde_json::to_writer(&mut text, message).map_err(|error| BodyError::Failed(error.to_string()))?;
    text.extend_from_slice(b"\n\n");
    Ok(Bytes::from(text))
}
