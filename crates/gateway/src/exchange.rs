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
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::BytesMut;
use hearth_core::{Body, Dispatch, Failure, Request, RequestId, Response, SocketEnd};

use crate::access::Outcome;
use crate::asked::{Asked, Shared};
use crate::body_in::{Incoming, Stop};
use crate::body_out::{Delimiter, Outgoing, SendError, Step};
use crate::date::{DateCache, DateText};
use crate::drain::Phase;
use crate::head::{Head, Version};
use crate::peer::Peer;
use crate::reject::Reject;
use crate::repeats::Repeats;
use crate::response::{Situation, Transfer, Written, write_head};
use crate::stats::Tally;
use crate::websocket;
use crate::wire::{Ending, Wire};

/// Bytes that may wait to be sent before the app is held back.
pub const HIGH_WATER: usize = 64 * 1024;

/// What a connection keeps from request to request.
pub struct Line {
    pub peer: Peer,
    pub wire: Wire,
    pub tally: Tally,
    pub date: DateCache,
    pub repeats: Repeats,
}

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Next,
    End(Ending),
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
    let (asked, client) = shared.ask(&mut head, &line.peer, id);
    let accept = match websocket::asked(&mut head, shared.config.compression) {
        Ok(accept) => accept,
        Err(reject) => return turn_away(shared, line, &asked, reject),
    };
    let limit = || shared.body_limit(&head.url);
    let (mut incoming, body) = match Incoming::begin(&head, &mut line.wire.inbox, limit) {
        Ok(begun) => begun,
        Err(reject) => return turn_away(shared, line, &asked, reject),
    };
    let request = Request { id, method: head.method, url: head.url, headers: head.headers, body, client: Some(client) };
    let answer = match shared.admit(client) {
        Ok(()) => {
            let mut answer = pin!(shared.dispatch.dispatch(request));
            poll_fn(|cx| poll_answer(cx, answer.as_mut(), shared, &mut line.wire, &mut incoming)).await
        }
        Err(failure) => Ok(Err(failure)),
    };
    match answer {
        Ok(answer) => {
            let answer = match accept {
                None => answer,
                Some(accept) => match socket_of(answer) {
                    Ok((response, end)) => {
                        // Few are, and what it keeps is large.
                        return Box::pin(websocket::serve(shared, line, asked, accept, response, end)).await;
                    }
                    Err(answer) => answer,
                },
            };
            let response = shared.answer(&asked, answer);
            if incoming.is_done() && !matches!(response.body, Body::Stream(_)) {
                return respond_at_once(shared, line, &incoming, &asked, response);
            }
            respond(shared, line, incoming, asked, response).await
        }
        Err(Stop::Gone) => {
            asked.log(None, 0, Outcome::ClientGone);
            line.tally.abort();
            Then::End(Ending::Drop)
        }
        Err(Stop::Reject(reject)) => turn_away(shared, line, &asked, reject),
    }
}

/// What the app answers, unless the exchange cannot go on before it does.
fn poll_answer<D>(
    cx: &mut Context<'_>,
    answer: Pin<&mut impl Future<Output = Result<Response, Failure>>>,
    shared: &Shared<D>,
    wire: &mut Wire,
    incoming: &mut Incoming,
) -> Poll<Result<Result<Response, Failure>, Stop>> {
    if let Poll::Ready(answer) = answer.poll(cx) {
        return Poll::Ready(Ok(answer));
    }
    if let Poll::Ready(stop) = incoming.poll(cx, wire, &shared.config) {
        return Poll::Ready(Err(stop));
    }
    match wire.poll_flush(cx) {
        Poll::Ready(Err(_)) => Poll::Ready(Err(Stop::Gone)),
        _ => Poll::Pending,
    }
}

/// The answer and its WebSocket, where the app gave one; else the answer as it was.
fn socket_of(answer: Result<Response, Failure>) -> Result<(Response, Box<SocketEnd>), Result<Response, Failure>> {
    match answer {
        Ok(Response { websocket: Some(end), status, reason, headers, body }) => {
            Ok((Response { status, reason, headers, body, websocket: None }, end))
        }
        other => Err(other),
    }
}

/// Answers what is no request at all.
pub fn turn_away_unread<D: Dispatch>(shared: &Shared<D>, line: &mut Line, reject: Reject) -> Then {
    line.tally.begin();
    let asked = shared.ask_unread(&line.peer, Version::Http11);
    turn_away(shared, line, &asked, reject)
}

fn turn_away<D>(shared: &Shared<D>, line: &mut Line, asked: &Asked, reject: Reject) -> Then {
    let response = asked.refusal(reject);
    let date = line.date.at(shared.clock.unix());
    let situation = situation(asked, date, false);
    let written = write_head(line.wire.outbox.text(), &response, &situation);
    let mut sent = 0;
    if let (Transfer::Whole, Body::Full(bytes)) = (written.transfer, response.body) {
        sent = bytes.len() as u64;
        line.wire.outbox.push(bytes);
    }
    asked.log(Some(response.status), sent, Outcome::Refused(reject.code()));
    line.tally.reject(response.status);
    Then::End(Ending::Linger)
}

fn situation<'a>(asked: &'a Asked, date: &'a DateText, keep_alive: bool) -> Situation<'a> {
    Situation { id: &asked.id, date, version: asked.version, is_head: asked.is_head, keep_alive }
}

/// Writes the head of an answer.
fn write_answer<D>(
    shared: &Shared<D>,
    line: &mut Line,
    incoming: &Incoming,
    asked: &Asked,
    response: &Response,
) -> Written {
    let keep_alive = asked.keep_alive
        && shared.drain.phase() == Phase::Open
        && (incoming.is_done() || may_keep(incoming, &line.wire.inbox, &response.body));
    let situation = situation(asked, line.date.at(shared.clock.unix()), keep_alive);
    let written = write_head(line.wire.outbox.text(), response, &situation);
    shared.stats.drop_headers(written.headers_dropped);
    written
}

/// The usual case: request and answer are all there, and nothing is waited for.
fn respond_at_once<D>(
    shared: &Shared<D>,
    line: &mut Line,
    incoming: &Incoming,
    asked: &Asked,
    response: Response,
) -> Then {
    let written = write_answer(shared, line, incoming, asked, &response);
    let mut sent = 0;
    if let (Transfer::Whole, Body::Full(bytes)) = (written.transfer, response.body) {
        sent = bytes.len() as u64;
        line.wire.outbox.push(bytes);
    }
    asked.log(Some(response.status), sent, Outcome::Answered);
    line.tally.serve(response.status);
    if written.keep_alive { Then::Next } else { Then::End(Ending::Close) }
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
    let written = write_answer(shared, line, &incoming, &asked, &response);
    let (status, mut sent) = (response.status, 0);

    match (written.transfer, response.body) {
        (Transfer::Whole, Body::Full(bytes)) => {
            sent = bytes.len() as u64;
            line.wire.outbox.push(bytes);
        }
        (Transfer::Stream(delimiter), body) => {
            let mut outgoing = Outgoing::new(body, delimiter);
            let streamed = stream(shared, &mut line.wire, &mut incoming, &mut outgoing).await;
            sent = outgoing.sent();
            match streamed {
                Streamed::All => {}
                Streamed::Gone => {
                    asked.log(Some(status), sent, Outcome::ClientGone);
                    line.tally.abort();
                    return Then::End(Ending::Drop);
                }
                Streamed::Failed(error) => {
                    tracing::info!(request.id = %asked.id, %error, "Response cut off");
                    asked.log(Some(status), sent, Outcome::CutOff);
                    line.tally.abort();
                    return Then::End(if delimiter == Delimiter::Close { Ending::Reset } else { Ending::Close });
                }
            }
        }
        _ => {}
    }
    asked.log(Some(status), sent, Outcome::Answered);
    line.tally.serve(status);
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
                // Nothing but what TLS may hold back.
                return match wire.poll_flush(cx) {
                    Poll::Ready(Err(_)) => Poll::Ready(Streamed::Gone),
                    _ => Poll::Pending,
                };
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
