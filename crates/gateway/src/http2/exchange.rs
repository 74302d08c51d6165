//! One request and its answer.
//!
//! ```text
//! head -> waiting for the app -> head sent -> streaming the body -> end
//!            |  reset by the client: the app's future is dropped | reset: the stream is dropped
//!            `- body refused (413, 408): the same, and we answer
//! ```
//! What the client still sends after the answer is refused by `h2` (a reset without an error).

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use hearth_core::{Body, Dispatch, Failure, Request, RequestId, Response};

use crate::access::RequestOutcome;
use crate::asked::{Asked, Shared};
use crate::body_in::Stop;
use crate::date::DateCache;
use crate::head::{Head, HttpVersion};
use crate::http2::download::{Broken, Download};
use crate::http2::head;
use crate::http2::socket::{self, Wish};
use crate::http2::upload::Upload;
use crate::ledger::Tally;
use crate::peer::Peer;
use crate::reject::Reject;
use crate::response::{Situation, Transfer, transfer};
use crate::websocket;

/// What the streams of a connection share.
pub struct Line<D> {
    pub shared: Arc<Shared<D>>,
    pub peer: Peer,
    pub tally: Mutex<Tally>,
}

/// A request that counts as aborted unless somebody says otherwise.
pub struct Turn<'a> {
    tally: &'a Mutex<Tally>,
    over: bool,
}

pub async fn exchange<D: Dispatch>(
    line: Arc<Line<D>>,
    request: http::Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
) {
    let shared = &*line.shared;
    let turn = Turn::begin(&line.tally);
    let (parts, recv) = request.into_parts();
    let body = if recv.is_end_stream() { head::Body::None } else { head::Body::Follows };
    let private = shared.config.private_cookie.as_deref();
    let mut head = match head::read(&parts, body, line.peer.scheme.prefix(), private) {
        Ok(head) => head,
        Err(reject) => {
            let asked = shared.ask_unread(&line.peer, HttpVersion::Http2);
            return turn_away(shared, turn, respond, &asked, reject).await;
        }
    };
    drop(parts);
    let id = RequestId::next();
    let (asked, client) = shared.ask(&mut head, &line.peer, id);
    match websocket::asked(&mut head, shared.config.compression) {
        Ok(None) => {}
        Ok(Some(agreement)) => {
            let Head { method, url, headers, .. } = head;
            let request = Request { id, method, url, headers, body: Body::Empty, client: Some(client) };
            let wish = Wish { request, asked, agreement, recv, respond };
            // Few are, and what it keeps is large.
            return Box::pin(socket::serve(shared, turn, wish)).await;
        }
        Err(reject) => return turn_away(shared, turn, respond, &asked, reject).await,
    }
    let limit = || shared.body_limit(&head.url);
    let (mut upload, body) = match Upload::begin(recv, &head, limit) {
        Ok(begun) => begun,
        Err(reject) => return turn_away(shared, turn, respond, &asked, reject).await,
    };
    let request = Request { id, method: head.method, url: head.url, headers: head.headers, body, client: Some(client) };
    let answer = match shared.admit(client) {
        Ok(()) => handle(shared, &mut respond, &mut upload, request).await,
        Err(failure) => Ok(Err(failure)),
    };
    match answer {
        Ok(answer) => {
            let response = shared.answer(&asked, answer);
            if let Body::Stream(_) = response.body {
                upload.send_continue(&mut respond);
            }
            let (status, sent, outcome) = send(shared, &mut respond, Some(upload), &asked, response).await;
            asked.log(Some(status), sent, outcome);
            if outcome == RequestOutcome::Answered {
                turn.end(|tally| tally.serve(status));
            }
        }
        Err(Stop::Gone) => asked.log(None, 0, RequestOutcome::ClientGone),
        Err(Stop::Reject(reject)) => {
            drop(upload);
            turn_away(shared, turn, respond, &asked, reject).await;
        }
    }
}

/// What the app answers, unless the exchange cannot go on before it does.
async fn handle<D: Dispatch>(
    shared: &Shared<D>,
    respond: &mut SendResponse<Bytes>,
    upload: &mut Upload,
    request: Request,
) -> Result<Result<Response, Failure>, Stop> {
    let mut answer = pin!(shared.dispatch.dispatch(request).wait());
    poll_fn(|cx| {
        if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
            return Poll::Ready(Ok(answer));
        }
        if let Poll::Ready(stop) = upload.poll(cx, &shared.config) {
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

/// Answers in the app's stead.
async fn turn_away<D: Dispatch>(
    shared: &Shared<D>,
    turn: Turn<'_>,
    mut respond: SendResponse<Bytes>,
    asked: &Asked,
    reject: Reject,
) {
    let response = asked.refusal(reject);
    let (status, sent, outcome) = send(shared, &mut respond, None, asked, response).await;
    let outcome = if outcome == RequestOutcome::Answered { RequestOutcome::Refused(reject.code()) } else { outcome };
    asked.log(Some(status), sent, outcome);
    turn.end(|tally| tally.reject(status));
}

/// Sends a response, while the request's body still comes.
pub async fn send<D>(
    shared: &Shared<D>,
    respond: &mut SendResponse<Bytes>,
    mut upload: Option<Upload>,
    asked: &Asked,
    response: Response,
) -> (u16, u64, RequestOutcome) {
    let mut cache = DateCache::new();
    let date = cache.at(shared.clock.unix());
    let situation =
        Situation { id: &asked.id, date, version: HttpVersion::Http2, is_head: asked.is_head, keep_alive: true };
    let transfer = transfer(&response, &situation);
    let (head, dropped) = head::write(&response, transfer, &asked.id, date);
    shared.stats.drop_headers(dropped);
    let status = response.status;
    let without_body = matches!(transfer, Transfer::None | Transfer::Unsent);
    let Ok(stream) = respond.send_response(head, without_body) else { return (status, 0, RequestOutcome::ClientGone) };
    if without_body {
        return (status, 0, RequestOutcome::Answered);
    }
    let mut download = Download::new(stream, response.body);
    let result = poll_fn(|cx| {
        // A body that is refused now has told the app; the answer goes on. One that broke off is a client that left.
        if let Some(Poll::Ready(Stop::Gone)) = upload.as_mut().map(|upload| upload.poll(cx, &shared.config)) {
            return Poll::Ready(Err(Broken::Gone));
        }
        download.poll(cx, shared.config.write_timeout)
    })
    .await;
    let outcome = match result {
        Ok(()) => RequestOutcome::Answered,
        Err(Broken::Gone) => RequestOutcome::ClientGone,
        Err(Broken::Failed(error)) => {
            tracing::info!(request.id = %asked.id, %error, "Response cut off");
            RequestOutcome::CutOff
        }
    };
    (status, download.sent(), outcome)
}

// === impl Turn ===

impl<'a> Turn<'a> {
    fn begin(tally: &'a Mutex<Tally>) -> Self {
        lock(tally).begin();
        Self { tally, over: false }
    }

    pub fn end(mut self, count: impl FnOnce(&mut Tally)) {
        count(&mut lock(self.tally));
        self.over = true;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.over {
            lock(self.tally).abort();
        }
    }
}

fn lock(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}
