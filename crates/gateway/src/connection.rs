//! A connection's life: heads are read, one exchange follows the other, until either side has had enough.
//!
//! ```text
//! Idle --first byte--> Head --complete--> exchange --> Idle | Head (pipelined) | end
//!   | keep_alive_timeout, EOF,    | head_timeout: 408
//!   | drain: closed in silence    | malformed, too large: 400, 431 ...
//! ```
//! The first request has `head_timeout` from the beginning. Where the server is full and others wait, a connection without a
//! request is closed for them (`slots.rs`).
//! Answers are flushed when the inbox has no further complete request, so pipelined requests that are answered at once
//! share a write.
//! A connection that begins with HTTP/2's preface, or whose TLS handshake chose `h2`, is [`http2`](crate::http2)'s.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Buf;
use hearth_core::Dispatch;
use tokio::net::UnixStream;
use tokio::task::coop::consume_budget;
use tokio::time::Instant;

use crate::asked::Shared;
use crate::clock::TICK;
use crate::date::DateCache;
use crate::drain::Phase;
use crate::exchange::{Begun, HIGH_WATER, Line, Then, exchange, turn_away_unread};
use crate::head::{self, Head, HeadRules};
use crate::http2;
use crate::ledger::Tally;
use crate::opening::Openings;
use crate::peer::{Peer, Trust};
use crate::reject::Reject;
use crate::repeats::Repeats;
use crate::rounds::{Socket, poll_allowance, put_off};
use crate::stats::Stats;
use crate::stream::{Rewound, Stream};
use crate::tls::{Handshake, Protocol};
use crate::wire::{Ending, READ, Wire};

/// A connection that was just accepted.
pub enum Accepted {
    Plain(Socket),
    Tls(Handshake),
    Hop(UnixStream),
}

enum Awaited {
    Head(Head),
    Reject(Reject),
    End(Ending),
}

enum More {
    Bytes,
    End(Ending),
    TooSlow,
}

/// Serves a connection to its end, or until the drain is over.
pub async fn serve<D: Dispatch>(shared: Arc<Shared<D>>, accepted: Accepted, peer: Peer) {
    let mut registration = None;
    let mut life = pin!(live(&shared, accepted, peer));
    poll_fn(|cx| {
        registration.get_or_insert_with(|| shared.drain.register(cx.waker().clone()));
        if shared.drain.phase() == Phase::Over {
            return Poll::Ready(());
        }
        life.as_mut().poll(cx)
    })
    .await;
}

async fn live<D: Dispatch>(shared: &Arc<Shared<D>>, accepted: Accepted, peer: Peer) {
    let waker = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
    let tally = match accepted {
        // Its requests are counted where they came from.
        Accepted::Hop(_) => Stats::default().connect(waker),
        Accepted::Plain(_) | Accepted::Tls(_) => shared.stats.connect(waker),
    };
    let stream = match accepted {
        Accepted::Plain(tcp) => Stream::Plain(tcp),
        Accepted::Hop(unix) => Stream::Unix(unix),
        Accepted::Tls(handshake) => match shake_hands(shared, handshake, &tally).await {
            Some((stream, Protocol::Http1)) => stream,
            Some((stream, Protocol::Http2)) => return Box::pin(http2::serve(shared, stream, peer, tally)).await,
            None => return,
        },
    };
    let wire = Wire::new(stream, shared.config.write_timeout);
    let (date, repeats, openings) = (DateCache::new(), Repeats::default(), Openings::default());
    let mut line = Line { peer, wire, tally, date, repeats, openings };
    let ending = loop {
        let then = match next_head(shared, &mut line).await {
            Awaited::Head(head) => match exchange(shared, &mut line, head) {
                Begun::Over(then) => then,
                Begun::Open(rest) => rest.await,
            },
            Awaited::Reject(Reject::Version) if begins_http2(&line) => {
                let Line { peer, wire, tally, .. } = line;
                let (first, stream) = wire.into_parts();
                return Box::pin(http2::serve(shared, Rewound::new(first, stream), peer, tally)).await;
            }
            Awaited::Reject(reject) => turn_away_unread(shared, &mut line, reject),
            Awaited::End(ending) => Then::End(ending),
        };
        if let Then::End(ending) = then {
            break ending;
        }
        // A client that sends faster than we answer must not keep the thread to itself. One of the two is for others.
        poll_fn(poll_allowance).await;
        consume_budget().await;
    };
    line.wire.end(ending).await;
}

/// Nothing, where it fails, takes too long, or the server stops.
async fn shake_hands<D>(shared: &Shared<D>, handshake: Handshake, tally: &Tally) -> Option<(Stream, Protocol)> {
    let mut result = pin!(handshake.finish(shared.config.handshake_timeout));
    poll_fn(|cx| {
        if shared.drain.phase() >= Phase::Draining || tally.is_evicted() {
            return Poll::Ready(None);
        }
        result.as_mut().poll(cx)
    })
    .await
}

/// Prior knowledge (RFC 9113, section 3.3). Asked only about what is no HTTP/1.
fn begins_http2(line: &Line) -> bool {
    line.tally.is_fresh() && !line.wire.is_tls() && http2::is_preface(&line.wire.inbox)
}

async fn next_head<D>(shared: &Shared<D>, line: &mut Line) -> Awaited {
    let (wire, tally) = (&mut line.wire, &line.tally);
    let rules = HeadRules {
        scheme: line.peer.scheme.prefix(),
        default_host: &shared.config.default_host,
        max_head: shared.config.max_head.bytes() as usize,
        max_headers: match line.peer.trust {
            Trust::Hop => head::MAX_HEADERS + head::HOP_HEADERS,
            Trust::Proxy | Trust::Nobody => head::MAX_HEADERS,
        },
        private_cookie: shared.config.private_cookie.as_deref(),
    };
    if wire.outbox.len() >= HIGH_WATER && poll_fn(|cx| wire.poll_flush(cx)).await.is_err() {
        return Awaited::End(Ending::Drop);
    }
    let mut seen = 0;
    loop {
        // A head, and every error in one, ends with a line: without a new one there is nothing to find.
        let fresh = &wire.inbox[seen..];
        if !fresh.is_empty()
            && (seen == 0 || memchr::memchr(b'\n', fresh).is_some() || wire.inbox.len() >= rules.max_head)
        {
            match line.repeats.parse(&wire.inbox, &rules) {
                Ok(Some(head)) => {
                    wire.inbox.advance(head.length);
                    wire.read_timer.stop();
                    return Awaited::Head(head);
                }
                Ok(None) => {}
                Err(reject) => return Awaited::Reject(reject),
            }
        }
        seen = wire.inbox.len();
        match poll_fn(|cx| poll_more(cx, shared, wire, tally)).await {
            More::Bytes => {}
            More::End(ending) => return Awaited::End(ending),
            More::TooSlow => return Awaited::Reject(Reject::HeadTimeout),
        }
    }
}

/// A server that stops closes a connection that has had no request after this time: its client connected while the server still
/// listened, and the first request may be on its way.
const FIRST_REQUEST_GRACE: Duration = Duration::from_millis(500);

/// Sends what there is, then reads.
fn poll_more<D>(cx: &mut Context<'_>, shared: &Shared<D>, wire: &mut Wire, tally: &Tally) -> Poll<More> {
    if !wire.outbox.is_empty() {
        put_off();
    }
    match wire.poll_flush(cx) {
        Poll::Ready(Ok(())) => {}
        Poll::Ready(Err(_)) => return Poll::Ready(More::End(Ending::Drop)),
        Poll::Pending => return Poll::Pending,
    }
    if wire.eof {
        return Poll::Ready(More::End(Ending::Close));
    }
    let idle = wire.inbox.is_empty();
    match wire.poll_fill(cx, READ) {
        Poll::Ready(Ok(1..)) => {
            if idle {
                // From here on it is the head's time that counts.
                wire.read_timer.stop();
            }
            return Poll::Ready(More::Bytes);
        }
        Poll::Ready(Ok(0)) => return Poll::Ready(More::End(Ending::Close)),
        Poll::Ready(Err(_)) => return Poll::Ready(More::End(Ending::Drop)),
        Poll::Pending => {}
    }
    if tally.is_evicted() {
        return Poll::Ready(More::End(Ending::Close));
    }
    if !idle {
        return wire.read_timer.poll(cx, shared.config.head_timeout, Instant::now).map(|()| More::TooSlow);
    }
    wire.trim();
    // A front of ours may be about to send: it has its time, as `hop.rs` says.
    if shared.drain.phase() >= Phase::Draining && !wire.is_hop() {
        if !tally.is_fresh() {
            return Poll::Ready(More::End(Ending::Close));
        }
        wire.read_timer.shorten(FIRST_REQUEST_GRACE);
    }
    let late = || shared.clock.recent() + TICK;
    let silence = shared.config.silence(tally.is_fresh() && !wire.is_hop());
    wire.read_timer.poll(cx, silence, late).map(|()| More::End(Ending::Close))
}
