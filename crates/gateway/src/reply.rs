//! Sends an answer: its head and its body, while the rest of the request's body is received or discarded.

use std::future::poll_fn;
use std::task::Poll;

use bytes::BytesMut;
use hearth_core::{Body, Response};

use crate::access::RequestOutcome;
use crate::body_in::{Incoming, Stop};
use crate::body_out::{Delimiter, Outgoing, SendError, Step};
use crate::buffered_stream::{BufferedStream, CloseMode};
use crate::date::DateText;
use crate::drain::Phase;
use crate::exchange::{ConnAction, HIGH_WATER, Http1Conn};
use crate::request_context::{RequestContext, ServerState};
use crate::response::{HeadParams, HeadResult, Transfer, write_head};

enum StreamOutcome {
    All,
    /// The client is gone.
    Gone,
    Failed(SendError),
}

pub fn head_params<'a>(context: &'a RequestContext, date: &'a DateText, keep_alive: bool) -> HeadParams<'a> {
    HeadParams { id: &context.id, date, version: context.version, is_head: context.is_head, keep_alive }
}

/// Writes the head of an answer.
fn write_answer<D>(
    server: &ServerState<D>,
    conn: &mut Http1Conn,
    incoming: &Incoming,
    context: &RequestContext,
    response: &Response,
) -> HeadResult {
    let keep_alive = context.keep_alive
        && server.drain.phase() == Phase::Open
        && (incoming.is_done() || may_keep(incoming, &conn.stream.read_buf, &response.body));
    let params = head_params(context, conn.date.at(server.clock.unix()), keep_alive);
    let written = write_head(conn.stream.write_queue.buffer(), response, &params, &mut conn.response_heads);
    server.stats.drop_headers(written.headers_dropped);
    written
}

/// Queues an answer whose request and body are complete: the usual case, which waits for nothing.
pub fn respond_at_once<D>(
    server: &ServerState<D>,
    conn: &mut Http1Conn,
    incoming: &Incoming,
    context: &RequestContext,
    response: Response,
) -> ConnAction {
    let written = write_answer(server, conn, incoming, context, &response);
    let mut sent = 0;
    if let (Transfer::Whole, Body::Full(bytes)) = (written.transfer, response.body) {
        sent = bytes.len() as u64;
        conn.stream.write_queue.push(bytes);
    }
    context.log(Some(response.status), sent, RequestOutcome::Answered);
    conn.counters.serve(response.status);
    if written.keep_alive { ConnAction::KeepAlive } else { ConnAction::Close(CloseMode::Close) }
}

/// Sends any other answer: it streams, or the request's body is incomplete.
pub async fn respond<D>(
    server: &ServerState<D>,
    conn: &mut Http1Conn,
    mut incoming: Incoming,
    context: RequestContext,
    response: Response,
) -> ConnAction {
    if let Body::Stream(_) = response.body {
        incoming.send_continue(&mut conn.stream.write_queue);
    }
    let written = write_answer(server, conn, &incoming, &context, &response);
    let (status, mut sent) = (response.status, 0);

    match (written.transfer, response.body) {
        (Transfer::Whole, Body::Full(bytes)) => {
            sent = bytes.len() as u64;
            conn.stream.write_queue.push(bytes);
        }
        (Transfer::Stream(delimiter), body) => {
            let mut outgoing = Outgoing::new(body, delimiter);
            let streamed = stream(server, &mut conn.stream, &mut incoming, &mut outgoing).await;
            sent = outgoing.sent();
            match streamed {
                StreamOutcome::All => {}
                StreamOutcome::Gone => {
                    context.log(Some(status), sent, RequestOutcome::ClientGone);
                    conn.counters.abort();
                    return ConnAction::Close(CloseMode::Drop);
                }
                StreamOutcome::Failed(error) => {
                    tracing::info!(request.id = %context.id, %error, "response cut off");
                    context.log(Some(status), sent, RequestOutcome::CutOff);
                    conn.counters.abort();
                    return ConnAction::Close(if delimiter == Delimiter::Close {
                        CloseMode::Reset
                    } else {
                        CloseMode::Close
                    });
                }
            }
        }
        _ => {}
    }
    context.log(Some(status), sent, RequestOutcome::Answered);
    conn.counters.serve(status);
    if !incoming.is_done() {
        return discard_request_body(server, &mut conn.stream, incoming, written.keep_alive).await;
    }
    if written.keep_alive { ConnAction::KeepAlive } else { ConnAction::Close(CloseMode::Close) }
}

/// Whether the connection can be kept: a response that streams may still read the request.
fn may_keep(incoming: &Incoming, read_buf: &BytesMut, body: &Body) -> bool {
    matches!(body, Body::Stream(_)) || incoming.keeps_connection(read_buf)
}

/// Sends the body while the request's own body is received. At the end less than [`HIGH_WATER`] is left in the write queue.
async fn stream<D>(
    server: &ServerState<D>,
    stream: &mut BufferedStream,
    incoming: &mut Incoming,
    outgoing: &mut Outgoing,
) -> StreamOutcome {
    let mut ended = false;
    poll_fn(|cx| {
        // The app has been told of a request's body that fails now; the connection ends after the answer.
        if let Poll::Ready(Stop::Gone) = incoming.poll(cx, stream, &server.config) {
            return Poll::Ready(StreamOutcome::Gone);
        }
        loop {
            while !ended && stream.write_queue.len() < HIGH_WATER {
                match outgoing.poll(cx, &mut stream.write_queue) {
                    Poll::Ready(Ok(Step::Piece)) => {}
                    Poll::Ready(Ok(Step::End)) => ended = true,
                    Poll::Ready(Err(error)) => return Poll::Ready(StreamOutcome::Failed(error)),
                    Poll::Pending => break,
                }
            }
            if ended && stream.write_queue.len() < HIGH_WATER {
                return Poll::Ready(StreamOutcome::All);
            }
            if stream.write_queue.is_empty() {
                // Only TLS may hold something back.
                return match stream.poll_flush(cx) {
                    Poll::Ready(Err(_)) => Poll::Ready(StreamOutcome::Gone),
                    _ => Poll::Pending,
                };
            }
            match stream.poll_write(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(StreamOutcome::Gone),
                Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await
}

/// The answer was queued before the request's body was complete: discards the rest of the body, if it is not too long.
async fn discard_request_body<D>(
    server: &ServerState<D>,
    stream: &mut BufferedStream,
    mut incoming: Incoming,
    keep_alive: bool,
) -> ConnAction {
    if !keep_alive {
        return ConnAction::Close(CloseMode::Linger);
    }
    let over = poll_fn(|cx| {
        // The answer first: the client may wait for it before it sends the rest.
        if let Poll::Ready(Err(_)) = stream.poll_flush(cx) {
            return Poll::Ready(Err(Stop::Gone));
        }
        incoming.poll_discard(cx, stream, &server.config)
    })
    .await;
    match over {
        Ok(()) if incoming.is_done() => ConnAction::KeepAlive,
        Ok(()) | Err(Stop::Reject(_)) => ConnAction::Close(CloseMode::Linger),
        Err(Stop::Gone) => ConnAction::Close(CloseMode::Drop),
    }
}
