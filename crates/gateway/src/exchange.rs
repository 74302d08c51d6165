//! One request and its answer.
//!
//! ```text
//! begin -> waiting for the app -> head written -> streaming the body -> settling the request's body -> next request
//!             |  client gone: the app's future is dropped      | client gone: the stream is dropped
//!             `- body refused (413, 408, 400): the same, and we answer
//! ```
//! While the app works or streams, the request's body flows to it, earlier answers are flushed, and the connection is
//! watched for its end. In the usual case none of this happens: the app has answered when it was given the request, and the
//! answer goes into the outbox, to be sent with those of other requests that have arrived already. How answers go out is
//! in `reply.rs`.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use hearth_core::{Body, Dispatch, Failure, MaybeReady, Request, RequestId, Response, SocketEnd};

use crate::access::RequestOutcome;
use crate::asked::{Asked, Shared};
use crate::body_in::{Incoming, Stop};
use crate::date::DateCache;
use crate::head::{Head, HttpVersion};
use crate::ledger::Tally;
use crate::opening::Openings;
use crate::peer::Peer;
use crate::reject::Reject;
use crate::repeats::Repeats;
use crate::reply::{respond, respond_at_once, situation};
use crate::response::{Transfer, write_head};
use crate::websocket::{self, Agreement};
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
    pub openings: Openings,
}

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Next,
    End(Ending),
}

/// How far a request has come without waiting for anything.
pub enum Begun<'a> {
    Over(Then),
    /// Few are, and what they keep is large: a connection that has no such request does without.
    Open(Pin<Box<dyn Future<Output = Then> + Send + 'a>>),
}

/// A request that an app has, or had.
struct Open<'a, D> {
    shared: &'a Shared<D>,
    line: &'a mut Line,
    incoming: Incoming,
    asked: Asked,
    /// What makes the connection a WebSocket, where the client wants one.
    accept: Option<Agreement>,
}

/// Begins to serve the request behind `head`, which was just taken from the inbox. Most are over when this returns.
pub fn exchange<'a, D: Dispatch>(shared: &'a Shared<D>, line: &'a mut Line, mut head: Head) -> Begun<'a> {
    line.tally.begin();
    let id = RequestId::next();
    let (asked, client) = shared.ask(&mut head, &line.peer, id);
    let accept = match websocket::asked(&mut head, shared.config.compression) {
        Ok(accept) => accept,
        Err(reject) => return Begun::Over(turn_away(shared, line, &asked, reject)),
    };
    let limit = || shared.body_limit(&head.url);
    let (incoming, body) = match Incoming::begin(&head, &mut line.wire.inbox, limit) {
        Ok(begun) => begun,
        Err(reject) => return Begun::Over(turn_away(shared, line, &asked, reject)),
    };
    let request = Request { id, method: head.method, url: head.url, headers: head.headers, body, client: Some(client) };
    let dispatched = match shared.admit(client) {
        Ok(()) => shared.dispatch.dispatch(request),
        Err(failure) => MaybeReady::Ready(Err(failure)),
    };
    let open = Open { shared, line, incoming, asked, accept };
    match dispatched {
        MaybeReady::Ready(answer) => open.respond_now(answer),
        MaybeReady::Pending(answer) => Begun::Open(Box::pin(open.wait(answer))),
    }
}

impl<'a, D: Dispatch> Open<'a, D> {
    /// Sends what is all there; what is not goes on by itself.
    fn respond_now(self, answer: Result<Response, Failure>) -> Begun<'a> {
        if self.accept.is_some() {
            return Begun::Open(Box::pin(self.respond(answer)));
        }
        let Self { shared, line, incoming, asked, .. } = self;
        let response = shared.answer(&asked, answer);
        if incoming.is_done() && !matches!(response.body, Body::Stream(_)) {
            return Begun::Over(respond_at_once(shared, line, &incoming, &asked, response));
        }
        Begun::Open(Box::pin(respond(shared, line, incoming, asked, response)))
    }

    async fn wait(mut self, answer: impl Future<Output = Result<Response, Failure>>) -> Then {
        let mut answer = pin!(answer);
        let (shared, wire, incoming) = (self.shared, &mut self.line.wire, &mut self.incoming);
        match poll_fn(|cx| poll_answer(cx, answer.as_mut(), shared, wire, incoming)).await {
            Ok(answer) => self.respond(answer).await,
            Err(Stop::Gone) => {
                self.asked.log(None, 0, RequestOutcome::ClientGone);
                self.line.tally.abort();
                Then::End(Ending::Drop)
            }
            Err(Stop::Reject(reject)) => turn_away(shared, self.line, &self.asked, reject),
        }
    }

    async fn respond(self, answer: Result<Response, Failure>) -> Then {
        let Self { shared, line, incoming, asked, accept } = self;
        let answer = match accept {
            None => answer,
            Some(accept) => match socket_of(answer) {
                // Few are, and what it keeps is large.
                Ok((response, end)) => {
                    return Box::pin(websocket::serve(shared, line, asked, accept, response, end)).await;
                }
                Err(answer) => answer,
            },
        };
        let response = shared.answer(&asked, answer);
        respond(shared, line, incoming, asked, response).await
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
    let asked = shared.ask_unread(&line.peer, HttpVersion::Http11);
    turn_away(shared, line, &asked, reject)
}

fn turn_away<D>(shared: &Shared<D>, line: &mut Line, asked: &Asked, reject: Reject) -> Then {
    let response = asked.refusal(reject);
    let date = line.date.at(shared.clock.unix());
    let situation = situation(asked, date, false);
    let written = write_head(line.wire.outbox.text(), &response, &situation, &mut line.openings);
    let mut sent = 0;
    if let (Transfer::Whole, Body::Full(bytes)) = (written.transfer, response.body) {
        sent = bytes.len() as u64;
        line.wire.outbox.push(bytes);
    }
    asked.log(Some(response.status), sent, RequestOutcome::Refused(reject.code()));
    line.tally.reject(response.status);
    Then::End(Ending::Linger)
}
