//! One request and its answer.
//!
//! ```text
//! begin -> waiting for the app -> head written -> streaming the body -> discarding the request's body -> next request
//!             |  client gone: the app's future is dropped      | client gone: the stream is dropped
//!             `- body rejected (413, 408, 400): the same, and an error is sent
//! ```
//! While the app works or streams, the request's body flows to it, earlier answers are flushed, and the connection is watched for
//! its end. In the usual case none of this happens: the app answers within the call that gives it the request, and the answer
//! goes into the write queue, to be sent with those of other requests that have arrived. How answers are sent is in `reply.rs`.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use hearth_core::{Body, Dispatch, Failure, MaybeReady, Request, RequestId, Response, SocketEnd};

use crate::access::RequestOutcome;
use crate::body_in::{Incoming, Stop};
use crate::buffered_stream::{BufferedStream, CloseMode};
use crate::counters::CounterHandle;
use crate::date::DateCache;
use crate::head::{Head, HttpVersion};
use crate::peer::Peer;
use crate::reject::Reject;
use crate::reply::{head_params, respond, respond_at_once};
use crate::request_context::{RequestContext, ServerState};
use crate::request_head_cache::RequestHeadCache;
use crate::response::{Transfer, write_head};
use crate::response_head_cache::ResponseHeadCache;
use crate::websocket::{self, Agreement};

/// Bytes that may wait to be sent before the app is held back.
pub const HIGH_WATER: usize = 64 * 1024;

/// What a connection keeps from request to request.
pub struct Http1Conn {
    pub peer: Peer,
    pub stream: BufferedStream,
    pub counters: CounterHandle,
    pub date: DateCache,
    pub request_heads: RequestHeadCache,
    pub response_heads: ResponseHeadCache,
}

/// What becomes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnAction {
    KeepAlive,
    Close(CloseMode),
}

/// How far a request has come when [`exchange`] returns. Few have something to wait for, and what those keep is large: it is
/// boxed, so that other connections do without.
pub type Exchange<'a> = MaybeReady<ConnAction, Pin<Box<dyn Future<Output = ConnAction> + Send + 'a>>>;

/// A request that was given to the app.
struct InFlight<'a, D> {
    server: &'a ServerState<D>,
    conn: &'a mut Http1Conn,
    incoming: Incoming,
    context: RequestContext,
    /// What makes the connection a WebSocket, where the client wants one.
    accept: Option<Agreement>,
}

/// Serves the request behind `head`, which was just taken from the read buffer. Most requests are answered when this returns.
pub fn exchange<'a, D: Dispatch>(server: &'a ServerState<D>, conn: &'a mut Http1Conn, mut head: Head) -> Exchange<'a> {
    conn.counters.begin();
    let id = RequestId::next();
    let (context, client) = server.begin_request(&mut head, &conn.peer, id);
    let accept = match websocket::negotiate(&mut head, server.config.compression) {
        Ok(accept) => accept,
        Err(reject) => return MaybeReady::Ready(respond_rejected(server, conn, &context, reject)),
    };
    let limit = || server.body_limit(&head.url);
    let (incoming, body) = match Incoming::begin(&head, &mut conn.stream.read_buf, limit) {
        Ok(begun) => begun,
        Err(reject) => return MaybeReady::Ready(respond_rejected(server, conn, &context, reject)),
    };
    let request = Request { id, method: head.method, url: head.url, headers: head.headers, body, client: Some(client) };
    let dispatched = match server.admit(client) {
        Ok(()) => server.dispatch.dispatch(request),
        Err(failure) => MaybeReady::Ready(Err(failure)),
    };
    let in_flight = InFlight { server, conn, incoming, context, accept };
    match dispatched {
        MaybeReady::Ready(answer) => in_flight.respond_now(answer),
        MaybeReady::Pending(answer) => MaybeReady::Pending(Box::pin(in_flight.wait(answer))),
    }
}

impl<'a, D: Dispatch> InFlight<'a, D> {
    /// Sends an answer that is complete; the rest of any other is pending.
    fn respond_now(self, answer: Result<Response, Failure>) -> Exchange<'a> {
        if self.accept.is_some() {
            return MaybeReady::Pending(Box::pin(self.respond(answer)));
        }
        let Self { server, conn, incoming, context, .. } = self;
        let response = server.answer(&context, answer);
        if incoming.is_done() && !matches!(response.body, Body::Stream(_)) {
            return MaybeReady::Ready(respond_at_once(server, conn, &incoming, &context, response));
        }
        MaybeReady::Pending(Box::pin(respond(server, conn, incoming, context, response)))
    }

    async fn wait(mut self, answer: impl Future<Output = Result<Response, Failure>>) -> ConnAction {
        let mut answer = pin!(answer);
        let (server, stream, incoming) = (self.server, &mut self.conn.stream, &mut self.incoming);
        match poll_fn(|cx| poll_answer(cx, answer.as_mut(), server, stream, incoming)).await {
            Ok(answer) => self.respond(answer).await,
            Err(Stop::Gone) => {
                self.context.log(None, 0, RequestOutcome::ClientGone);
                self.conn.counters.abort();
                ConnAction::Close(CloseMode::Drop)
            }
            Err(Stop::Reject(reject)) => respond_rejected(server, self.conn, &self.context, reject),
        }
    }

    async fn respond(self, answer: Result<Response, Failure>) -> ConnAction {
        let Self { server, conn, incoming, context, accept } = self;
        let answer = match accept {
            None => answer,
            Some(accept) => match socket_of(answer) {
                // WebSockets are few, and their state is large.
                Ok((response, end)) => {
                    return Box::pin(websocket::serve(server, conn, context, accept, response, end)).await;
                }
                Err(answer) => answer,
            },
        };
        let response = server.answer(&context, answer);
        respond(server, conn, incoming, context, response).await
    }
}

/// The app's answer, unless the exchange ends before.
fn poll_answer<D>(
    cx: &mut Context<'_>,
    answer: Pin<&mut impl Future<Output = Result<Response, Failure>>>,
    server: &ServerState<D>,
    stream: &mut BufferedStream,
    incoming: &mut Incoming,
) -> Poll<Result<Result<Response, Failure>, Stop>> {
    if let Poll::Ready(answer) = answer.poll(cx) {
        return Poll::Ready(Ok(answer));
    }
    if let Poll::Ready(stop) = incoming.poll(cx, stream, &server.config) {
        return Poll::Ready(Err(stop));
    }
    match stream.poll_flush(cx) {
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

/// Answers what could not be parsed as a request.
pub fn respond_unparsed<D: Dispatch>(server: &ServerState<D>, conn: &mut Http1Conn, reject: Reject) -> ConnAction {
    conn.counters.begin();
    let context = server.begin_rejected(&conn.peer, HttpVersion::Http11);
    respond_rejected(server, conn, &context, reject)
}

fn respond_rejected<D>(
    server: &ServerState<D>,
    conn: &mut Http1Conn,
    context: &RequestContext,
    reject: Reject,
) -> ConnAction {
    let response = context.reject_response(reject);
    let date = conn.date.at(server.clock.unix());
    let params = head_params(context, date, false);
    let written = write_head(conn.stream.write_queue.buffer(), &response, &params, &mut conn.response_heads);
    let mut sent = 0;
    if let (Transfer::Whole, Body::Full(bytes)) = (written.transfer, response.body) {
        sent = bytes.len() as u64;
        conn.stream.write_queue.push(bytes);
    }
    context.log(Some(response.status), sent, RequestOutcome::Refused(reject.code()));
    conn.counters.reject(response.status);
    ConnAction::Close(CloseMode::Linger)
}
