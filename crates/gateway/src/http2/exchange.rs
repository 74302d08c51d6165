//! One request and its answer.
//!
//! ```text
//! head -> waiting for the app -> head sent -> streaming the body -> end
//!            |  reset by the client: the app's future is dropped | reset: the stream is dropped
//!            `- body rejected (413, 408): the same, and an error is sent
//! ```
//! `h2` refuses what the client still sends after the answer (a reset without an error).

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use hearth_core::{Body, Dispatch, Failure, Request, RequestId, Response};

use crate::access::RequestOutcome;
use crate::body_in::Stop;
use crate::counters::CounterHandle;
use crate::date::DateCache;
use crate::head::{Head, HttpVersion};
use crate::http2::download::{Broken, H2Download};
use crate::http2::extended_connect::{self, ExtendedConnect};
use crate::http2::head;
use crate::http2::upload::H2Upload;
use crate::peer::Peer;
use crate::reject::Reject;
use crate::request_context::{RequestContext, ServerState};
use crate::response::{HeadParams, Transfer, transfer};
use crate::websocket;

/// What the streams of a connection share.
pub struct Http2Conn<D> {
    pub server: Arc<ServerState<D>>,
    pub peer: Peer,
    pub counters: Mutex<CounterHandle>,
}

/// Counts a request as aborted, unless it is [ended](Self::end) otherwise.
pub struct RequestGuard<'a> {
    counters: &'a Mutex<CounterHandle>,
    counted: bool,
}

pub async fn exchange<D: Dispatch>(
    conn: Arc<Http2Conn<D>>,
    request: http::Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) {
    let server = &*conn.server;
    let guard = RequestGuard::begin(&conn.counters);
    let (parts, recv) = request.into_parts();
    let body = if recv.is_end_stream() { head::BodyPresence::None } else { head::BodyPresence::Follows };
    let private = server.config.private_cookie.as_deref();
    let mut head = match head::read(&parts, body, conn.peer.scheme.prefix(), private) {
        Ok(head) => head,
        Err(reject) => {
            let context = server.begin_rejected(&conn.peer, HttpVersion::Http2);
            return respond_rejected(server, guard, respond, &context, reject).await;
        }
    };
    drop(parts);
    let id = RequestId::next();
    let (context, client) = server.begin_request(&mut head, &conn.peer, id);
    match websocket::negotiate(&mut head, server.config.compression) {
        Ok(None) => {}
        Ok(Some(agreement)) => {
            let Head { method, url, headers, .. } = head;
            let request = Request { id, method, url, headers, body: Body::Empty, client: Some(client) };
            let connect = ExtendedConnect { request, context, agreement, recv, respond };
            // WebSockets are few, and their state is large.
            return Box::pin(extended_connect::serve(server, guard, connect)).await;
        }
        Err(reject) => return respond_rejected(server, guard, respond, &context, reject).await,
    }
    let limit = || server.body_limit(&head.url);
    let (mut upload, body) = match H2Upload::begin(recv, &head, limit) {
        Ok(begun) => begun,
        Err(reject) => return respond_rejected(server, guard, respond, &context, reject).await,
    };
    let request = Request { id, method: head.method, url: head.url, headers: head.headers, body, client: Some(client) };
    let answer = match server.admit(client) {
        Ok(()) => handle(server, &mut respond, &mut upload, request).await,
        Err(failure) => Ok(Err(failure)),
    };
    match answer {
        Ok(answer) => {
            let response = server.answer(&context, answer);
            if let Body::Stream(_) = response.body {
                upload.send_continue(&mut respond);
            }
            let (status, sent, outcome) = send(server, &mut respond, Some(upload), &context, response).await;
            context.log(Some(status), sent, outcome);
            if outcome == RequestOutcome::Answered {
                guard.end(|counters| counters.serve(status));
            }
        }
        Err(Stop::Gone) => context.log(None, 0, RequestOutcome::ClientGone),
        Err(Stop::Reject(reject)) => {
            drop(upload);
            respond_rejected(server, guard, respond, &context, reject).await;
        }
    }
}

/// The app's answer, unless the exchange ends before.
async fn handle<D: Dispatch>(
    server: &ServerState<D>,
    respond: &mut SendResponse<Bytes>,
    upload: &mut H2Upload,
    request: Request,
) -> Result<Result<Response, Failure>, Stop> {
    let mut answer = pin!(server.dispatch.dispatch(request).wait());
    poll_fn(|cx| {
        if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
            return Poll::Ready(Ok(answer));
        }
        if let Poll::Ready(stop) = upload.poll(cx, &server.config) {
            return Poll::Ready(Err(stop));
        }
        if upload.poll_continue(cx).is_ready() {
            upload.send_continue(respond);
        }
        match respond.poll_reset(cx) {
            Poll::Ready(_) => Poll::Ready(Err(Stop::Gone)),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Sends an error instead of an app's answer.
async fn respond_rejected<D: Dispatch>(
    server: &ServerState<D>,
    guard: RequestGuard<'_>,
    mut respond: SendResponse<Bytes>,
    context: &RequestContext,
    reject: Reject,
) {
    let response = context.reject_response(reject);
    let (status, sent, outcome) = send(server, &mut respond, None, context, response).await;
    let outcome = if outcome == RequestOutcome::Answered { RequestOutcome::Refused(reject.code()) } else { outcome };
    context.log(Some(status), sent, outcome);
    guard.end(|counters| counters.reject(status));
}

/// Sends a response while the request's body is received.
pub async fn send<D>(
    server: &ServerState<D>,
    respond: &mut SendResponse<Bytes>,
    mut upload: Option<H2Upload>,
    context: &RequestContext,
    response: Response,
) -> (u16, u64, RequestOutcome) {
    let mut cache = DateCache::new();
    let date = cache.at(server.clock.unix());
    let params =
        HeadParams { id: &context.id, date, version: HttpVersion::Http2, is_head: context.is_head, keep_alive: true };
    let transfer = transfer(&response, &params);
    let (head, dropped) = head::write(&response, transfer, &context.id, date);
    server.stats.drop_headers(dropped);
    let status = response.status;
    let without_body = matches!(transfer, Transfer::None | Transfer::Unsent);
    let Ok(stream) = respond.send_response(head, without_body) else { return (status, 0, RequestOutcome::ClientGone) };
    if without_body {
        return (status, 0, RequestOutcome::Answered);
    }
    let mut download = H2Download::new(stream, response.body);
    let result = poll_fn(|cx| {
        // The app has been told of a body that is rejected now, and the answer goes on. A body that breaks off means that the client
        // is gone.
        if let Some(Poll::Ready(Stop::Gone)) = upload.as_mut().map(|upload| upload.poll(cx, &server.config)) {
            return Poll::Ready(Err(Broken::Gone));
        }
        download.poll(cx, server.config.write_timeout)
    })
    .await;
    let outcome = match result {
        Ok(()) => RequestOutcome::Answered,
        Err(Broken::Gone) => RequestOutcome::ClientGone,
        Err(Broken::Failed(error)) => {
            tracing::info!(request.id = %context.id, %error, "response cut off");
            RequestOutcome::CutOff
        }
    };
    (status, download.sent(), outcome)
}

// === impl RequestGuard ===

impl<'a> RequestGuard<'a> {
    fn begin(counters: &'a Mutex<CounterHandle>) -> Self {
        lock(counters).begin();
        Self { counters, counted: false }
    }

    pub fn end(mut self, count: impl FnOnce(&mut CounterHandle)) {
        count(&mut lock(self.counters));
        self.counted = true;
    }
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        if !self.counted {
            lock(self.counters).abort();
        }
    }
}

fn lock(counters: &Mutex<CounterHandle>) -> MutexGuard<'_, CounterHandle> {
    counters.lock().unwrap_or_else(PoisonError::into_inner)
}
