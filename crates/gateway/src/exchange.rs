//! One request and its answer.
//!
//! ```text
//! begin -> waiting for the app -> head written -> streaming the body -> settling the request's body -> next request
//!             |  client gone: the app's future is dropped      | client gone: the stream is dropped
//!             `- body refused (413, 408, 400): the same, and we answer
//! ```
//! While the app works or streams, the request's body flows to it, earlier answers are flushed, and the connection is
//! watched for its end. In the usual case none of this happens: the future is ready at its first poll and the answer
//! goes into the outbox, to be sent with those of other requests that have arrived already.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use bytes::BytesMut;
use hearth_core::{Body, Dispatch, Failure, Method, Request, RequestId, Response};
use tokio::time::Instant;
use tracing::Level;

use crate::body_in::{Incoming, Stop};
use crate::body_out::{Delimiter, Outgoing, SendError, Step};
use crate::connection::Shared;
use crate::date::DateCache;
use crate::drain::Phase;
use crate::head::{Head, Version};
use crate::reject::Reject;
use crate::request_id::IdText;
use crate::rescue::{Asker, refuse, rescue};
use crate::response::{Situation, Transfer, write_head};
use crate::stats::Tally;
use crate::wire::{Ending, Wire};

/// Bytes that may wait to be sent before the app is held back.
pub const HIGH_WATER: usize = 64 * 1024;

/// What a connection keeps from request to request.
pub struct Line {
    pub wire: Wire,
    pub tally: Tally,
    pub date: DateCache,
}

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Next,
    End(Ending),
}

/// What must be known of a request when its answer is written.
struct Asked {
    id: IdText,
    version: Version,
    is_head: bool,
    keep_alive: bool,
    prefers_html: bool,
    /// For the access log, where somebody reads it.
    log: Option<Box<LogLine>>,
}

struct LogLine {
    method: Method,
    url: String,
    start: Instant,
}

enum Streamed {
    All,
    Gone,
    Failed(SendError),
}

/// Serves the request behind `head`, which was just taken from the inbox.
pub async fn exchange<D: Dispatch>(shared: &Shared<D>, line: &mut Line, mut head: Head) -> Then {
    line.tally.begin();
    let id = RequestId::next();
    let asked = Asked::new(&head, head.id.unwrap_or_else(|| shared.ids.text(id)));
    let (mut incoming, body) = match Incoming::begin(&head, &mut line.wire.inbox, &shared.config) {
        Ok(begun) => begun,
        Err(reject) => return turn_away(shared, line, &asked, reject),
    };
    head.headers.push(b"x-request-id", asked.id.as_bytes());
    let request = Request { id, method: head.method, url: head.url, headers: head.headers, body };

    let answer = {
        let wire = &mut line.wire;
        let mut answer = pin!(shared.dispatch.dispatch(request));
        poll_fn(|cx| {
            if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                return Poll::Ready(Ok(answer));
            }
            if let Poll::Ready(stop) = incoming.poll(cx, wire, &shared.config) {
                return Poll::Ready(Err(stop));
            }
            match wire.poll_flush(cx) {
                Poll::Ready(Err(_)) => Poll::Ready(Err(Stop::Gone)),
                _ => Poll::Pending,
            }
        })
        .await
    };
    match answer {
        Ok(answer) => {
            let response = answer.and_then(sendable).unwrap_or_else(|failure| {
                let asker = Asker { id: &asked.id, prefers_html: asked.prefers_html };
                rescue(&failure, asker, shared.config.errors, &shared.failures)
            });
            respond(shared, line, incoming, asked, response).await
        }
        Err(Stop::Gone) => {
            asked.log(None, "client gone");
            line.tally.abort();
            Then::End(Ending::Drop)
        }
        Err(Stop::Reject(reject)) => turn_away(shared, line, &asked, reject),
    }
}

/// Answers what is no request at all.
pub fn turn_away_unread<D>(shared: &Shared<D>, line: &mut Line, reject: Reject) -> Then {
    let asked = Asked {
        id: shared.ids.text(RequestId::next()),
        version: Version::Http11,
        is_head: false,
        keep_alive: false,
        prefers_html: false,
        log: None,
    };
    turn_away(shared, line, &asked, reject)
}

fn turn_away<D>(shared: &Shared<D>, line: &mut Line, asked: &Asked, reject: Reject) -> Then {
    let response = refuse(reject, Asker { id: &asked.id, prefers_html: asked.prefers_html });
    asked.log(Some(response.status), reject.code());
    let date = line.date.at(shared.clock.unix());
    let situation = asked.situation(date, false);
    let written = write_head(line.wire.outbox.text(), &response, &situation);
    if let (Transfer::Whole, Body::Full(bytes)) = (written.transfer, response.body) {
        line.wire.outbox.push(bytes);
    }
    line.tally.reject();
    Then::End(Ending::Linger)
}

/// Statuses that are no final answer cannot be sent as one.
fn sendable(response: Response) -> Result<Response, Failure> {
    match response.status {
        200..=999 => Ok(response),
        status => Err(Failure::App { message: format!("the app answered with status {status}") }),
    }
}

async fn respond<D>(
    shared: &Shared<D>,
    line: &mut Line,
    mut incoming: Incoming,
    asked: Asked,
    response: Response,
) -> Then {
    if let Body::Stream(_) = response.body {
        incoming.send_continue(&mut line.wire.outbox);
    }
    let keep_alive = asked.keep_alive
        && shared.drain.phase() == Phase::Open
        && (incoming.is_done() || may_keep(&incoming, &line.wire.inbox, &response.body));
    let situation = asked.situation(line.date.at(shared.clock.unix()), keep_alive);
    let written = write_head(line.wire.outbox.text(), &response, &situation);
    shared.stats.drop_headers(written.headers_dropped);
    let status = response.status;

    match (written.transfer, response.body) {
        (Transfer::Whole, Body::Full(bytes)) => line.wire.outbox.push(bytes),
        (Transfer::Stream(delimiter), body) => {
            let mut outgoing = Outgoing::new(body, delimiter);
            match stream(shared, &mut line.wire, &mut incoming, &mut outgoing).await {
                Streamed::All => {}
                Streamed::Gone => {
                    asked.log(Some(status), "client gone");
                    line.tally.abort();
                    return Then::End(Ending::Drop);
                }
                Streamed::Failed(error) => {
                    tracing::info!(request.id = %asked.id, %error, "Response cut off");
                    asked.log(Some(status), "cut off");
                    line.tally.abort();
                    return Then::End(if delimiter == Delimiter::Close { Ending::Reset } else { Ending::Close });
                }
            }
        }
        _ => {}
    }
    asked.log(Some(status), "answered");
    line.tally.serve();
    if !incoming.is_done() {
        return settle(shared, &mut line.wire, incoming, written.keep_alive).await;
    }
    if written.keep_alive { Then::Next } else { Then::End(Ending::Close) }
}

/// A response that streams may still read the request.
fn may_keep(incoming: &Incoming, inbox: &BytesMut, body: &Body) -> bool {
    matches!(body, Body::Stream(_)) || incoming.keeps_connection(inbox)
}

/// Sends the body while the request's own body still comes. What is left in the outbox is less than its mark.
async fn stream<D>(shared: &Shared<D>, wire: &mut Wire, incoming: &mut Incoming, outgoing: &mut Outgoing) -> Streamed {
    let mut ended = false;
    poll_fn(|cx| {
        // A request's body that fails now has told the app; the connection ends after the answer.
        if let Poll::Ready(Stop::Gone) = incoming.poll(cx, wire, &shared.config) {
            return Poll::Ready(Streamed::Gone);
        }
        loop {
            while !ended && wire.outbox.len() < HIGH_WATER {
                match outgoing.poll(cx, &mut wire.outbox) {
                    Poll::Ready(Ok(Step::Piece)) => {}
                    Poll::Ready(Ok(Step::End)) => ended = true,
                    Poll::Ready(Err(error)) => return Poll::Ready(Streamed::Failed(error)),
                    Poll::Pending => break,
                }
            }
            if ended && wire.outbox.len() < HIGH_WATER {
                return Poll::Ready(Streamed::All);
            }
            if wire.outbox.is_empty() {
                return Poll::Pending;
            }
            match wire.poll_write(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(Streamed::Gone),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await
}

/// The answer is out before the request's body was in: throws the rest away, if that is not too much.
async fn settle<D>(shared: &Shared<D>, wire: &mut Wire, mut incoming: Incoming, keep_alive: bool) -> Then {
    if !keep_alive {
        return Then::End(Ending::Linger);
    }
    let over = poll_fn(|cx| {
        // First the answer: the client may wait for it before it goes on.
        if let Poll::Ready(Err(_)) = wire.poll_flush(cx) {
            return Poll::Ready(Err(Stop::Gone));
        }
        incoming.poll_discard(cx, wire, &shared.config)
    })
    .await;
    match over {
        Ok(()) if incoming.is_done() => Then::Next,
        Ok(()) | Err(Stop::Reject(_)) => Then::End(Ending::Linger),
        Err(Stop::Gone) => Then::End(Ending::Drop),
    }
}

// === impl Asked ===

impl Asked {
    fn new(head: &Head, id: IdText) -> Self {
        let log = tracing::enabled!(Level::DEBUG)
            .then(|| Box::new(LogLine { method: head.method.clone(), url: head.url.clone(), start: Instant::now() }));
        Self {
            id,
            version: head.version,
            is_head: head.method == Method::Head,
            keep_alive: head.keep_alive,
            prefers_html: head.prefers_html,
            log,
        }
    }

    fn situation<'a>(&'a self, date: &'a crate::date::DateText, keep_alive: bool) -> Situation<'a> {
        Situation { id: &self.id, date, version: self.version, is_head: self.is_head, keep_alive }
    }

    /// The access log: one line for each request, when all of its answer is on its way or none will be.
    fn log(&self, status: Option<u16>, outcome: &str) {
        if let Some(line) = &self.log {
            let (id, method, url, elapsed) = (&self.id, line.method.as_str(), &line.url, line.start.elapsed());
            tracing::debug!(request.id = %id, method, %url, status, outcome, ?elapsed, "Request");
        }
    }
}
