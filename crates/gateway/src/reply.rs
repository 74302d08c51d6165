//! An answer on its way out: its head, its body, and what is left of the request's own body meanwhile.

use std::future::poll_fn;
use std::task::Poll;

use bytes::BytesMut;
use hearth_core::{Body, Response};

use crate::access::RequestOutcome;
use crate::asked::{Asked, Shared};
use crate::body_in::{Incoming, Stop};
use crate::body_out::{Delimiter, Outgoing, SendError, Step};
use crate::date::DateText;
use crate::drain::Phase;
use crate::exchange::{HIGH_WATER, Line, Then};
use crate::response::{Situation, Transfer, Written, write_head};
use crate::wire::{Ending, Wire};

enum Streamed {
    All,
    Gone,
    Failed(SendError),
}

pub fn situation<'a>(asked: &'a Asked, date: &'a DateText, keep_alive: bool) -> Situation<'a> {
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
    let written = write_head(line.wire.outbox.text(), response, &situation, &mut line.openings);
    shared.stats.drop_headers(written.headers_dropped);
    written
}

/// The usual case: request and answer are all there, and nothing is waited for.
pub fn respond_at_once<D>(
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
    asked.log(Some(response.status), sent, RequestOutcome::Answered);
    line.tally.serve(response.status);
    if written.keep_alive { Then::Next } else { Then::End(Ending::Close) }
}

/// Any other: the answer streams, or the request's body is not all there.
pub async fn respond<D>(
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
                    asked.log(Some(status), sent, RequestOutcome::ClientGone);
                    line.tally.abort();
                    return Then::End(Ending::Drop);
                }
                Streamed::Failed(error) => {
                    tracing::info!(request.id = %asked.id, %error, "Response cut off");
                    asked.log(Some(status), sent, RequestOutcome::CutOff);
                    line.tally.abort();
                    return Then::End(if delimiter == Delimiter::Close { Ending::Reset } else { Ending::Close });
                }
            }
        }
        _ => {}
    }
    asked.log(Some(status), sent, RequestOutcome::Answered);
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
