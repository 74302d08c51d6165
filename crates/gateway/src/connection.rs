//! Serves an HTTP/1 connection: reads a head, serves the request, and so on until either side closes the connection.
//!
//! ```text
//! Idle --first byte--> Head --complete--> exchange --> Idle | Head (pipelined) | end
//!   | keep_alive_timeout, EOF,    | head_timeout: 408
//!   | drain: closed silently      | malformed, too large: 400, 431 ...
//! ```
//! The first request has `head_timeout` from the accept on. Where the server is full and clients wait, an idle connection is
//! closed for them (`slots.rs`).
//! Answers are flushed when the read buffer has no further complete request, so pipelined requests that are answered at once
//! share a write.
//! A connection that begins with HTTP/2's preface, or whose TLS handshake chose `h2`, is served by [`http2`](crate::http2).

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Buf;
use hearth_core::{Dispatch, MaybeReady};
use tokio::net::UnixStream;
use tokio::task::coop::consume_budget;
use tokio::time::Instant;

use crate::buffered_stream::{BufferedStream, CloseMode, READ_SIZE};
use crate::clock::TICK;
use crate::counters::CounterHandle;
use crate::date::DateCache;
use crate::drain::Phase;
use crate::exchange::{ConnAction, HIGH_WATER, Http1Conn, exchange, respond_unparsed};
use crate::head::{self, Head, HeadRules};
use crate::http2;
use crate::peer::{Peer, Trust};
use crate::reject::Reject;
use crate::request_context::ServerState;
use crate::request_head_cache::RequestHeadCache;
use crate::response_head_cache::ResponseHeadCache;
use crate::stats::Stats;
use crate::stream::{ClientStream, PrefixedStream};
use crate::tls::{Handshake, Protocol};
use hearth_reactor::{ReactorSocket, defer_next_write, poll_budget};

/// A connection that was just accepted.
pub enum Accepted {
    Plain(ReactorSocket),
    Tls(Handshake),
    Hop(UnixStream),
}

enum NextHead {
    Head(Head),
    Reject(Reject),
    Close(CloseMode),
}

enum ReadResult {
    Bytes,
    Close(CloseMode),
    TooSlow,
}

/// Serves a connection to its end, or until the drain is over.
pub async fn serve<D: Dispatch>(server: Arc<ServerState<D>>, accepted: Accepted, peer: Peer) {
    let mut registration = None;
    let mut connection = pin!(run(&server, accepted, peer));
    poll_fn(|cx| {
        registration.get_or_insert_with(|| server.drain.register(cx.waker().clone()));
        if server.drain.phase() == Phase::Over {
            return Poll::Ready(());
        }
        connection.as_mut().poll(cx)
    })
    .await;
}

async fn run<D: Dispatch>(server: &Arc<ServerState<D>>, accepted: Accepted, peer: Peer) {
    let waker = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
    let counters = match accepted {
        // The front gateway counts these requests.
        Accepted::Hop(_) => Stats::default().connect(waker),
        Accepted::Plain(_) | Accepted::Tls(_) => server.stats.connect(waker),
    };
    let stream = match accepted {
        Accepted::Plain(tcp) => ClientStream::Plain(tcp),
        Accepted::Hop(unix) => ClientStream::Unix(unix),
        Accepted::Tls(handshake) => match tls_handshake(server, handshake, &counters).await {
            Some((stream, Protocol::Http1)) => stream,
            Some((stream, Protocol::Http2)) => return Box::pin(http2::serve(server, stream, peer, counters)).await,
            None => return,
        },
    };
    let stream = BufferedStream::new(stream, server.config.write_timeout);
    let (date, request_heads, response_heads) =
        (DateCache::new(), RequestHeadCache::default(), ResponseHeadCache::default());
    let mut conn = Http1Conn { peer, stream, counters, date, request_heads, response_heads };
    let mode = loop {
        let action = match next_head(server, &mut conn).await {
            NextHead::Head(head) => match exchange(server, &mut conn, head) {
                MaybeReady::Ready(action) => action,
                MaybeReady::Pending(pending) => pending.await,
            },
            NextHead::Reject(Reject::Version) if begins_http2(&conn) => {
                let Http1Conn { peer, stream, counters, .. } = conn;
                let (first, stream) = stream.into_parts();
                return Box::pin(http2::serve(server, PrefixedStream::new(first, stream), peer, counters)).await;
            }
            NextHead::Reject(reject) => respond_unparsed(server, &mut conn, reject),
            NextHead::Close(mode) => ConnAction::Close(mode),
        };
        if let ConnAction::Close(mode) = action {
            break mode;
        }
        // A client that sends faster than it is served must not keep the thread to itself. The first is the reactor's budget, the
        // second tokio's; each does nothing in the other's tasks.
        poll_fn(poll_budget).await;
        consume_budget().await;
    };
    conn.stream.close(mode).await;
}

/// None where the handshake fails, takes too long, or the server stops.
async fn tls_handshake<D>(
    server: &ServerState<D>,
    handshake: Handshake,
    counters: &CounterHandle,
) -> Option<(ClientStream, Protocol)> {
    let mut result = pin!(handshake.finish(server.config.handshake_timeout));
    poll_fn(|cx| {
        if server.drain.phase() >= Phase::Draining || counters.is_evicted() {
            return Poll::Ready(None);
        }
        result.as_mut().poll(cx)
    })
    .await
}

/// Whether the client speaks HTTP/2 with prior knowledge (RFC 9113, section 3.3). Called only for what is not HTTP/1.
fn begins_http2(conn: &Http1Conn) -> bool {
    conn.counters.is_fresh() && !conn.stream.is_tls() && http2::is_preface(&conn.stream.read_buf)
}

async fn next_head<D>(server: &ServerState<D>, conn: &mut Http1Conn) -> NextHead {
    let (stream, counters) = (&mut conn.stream, &conn.counters);
    let rules = HeadRules {
        scheme: conn.peer.scheme.prefix(),
        default_host: &server.config.default_host,
        max_head: server.config.max_head.bytes() as usize,
        max_headers: match conn.peer.trust {
            Trust::Hop => head::MAX_HEADERS + head::HOP_HEADERS,
            Trust::Proxy | Trust::None => head::MAX_HEADERS,
        },
        private_cookie: server.config.private_cookie.as_deref(),
    };
    if stream.write_queue.len() >= HIGH_WATER && poll_fn(|cx| stream.poll_flush(cx)).await.is_err() {
        return NextHead::Close(CloseMode::Drop);
    }
    let mut seen = 0;
    loop {
        // A head, and every error in one, ends with a line: without a new line feed there is nothing to parse.
        let fresh = &stream.read_buf[seen..];
        if !fresh.is_empty()
            && (seen == 0 || memchr::memchr(b'\n', fresh).is_some() || stream.read_buf.len() >= rules.max_head)
        {
            match conn.request_heads.parse(&stream.read_buf, &rules) {
                Ok(Some(head)) => {
                    stream.read_buf.advance(head.length);
                    stream.read_timer.stop();
                    return NextHead::Head(head);
                }
                Ok(None) => {}
                Err(reject) => return NextHead::Reject(reject),
            }
        }
        seen = stream.read_buf.len();
        match poll_fn(|cx| poll_more(cx, server, stream, counters)).await {
            ReadResult::Bytes => {}
            ReadResult::Close(mode) => return NextHead::Close(mode),
            ReadResult::TooSlow => return NextHead::Reject(Reject::HeadTimeout),
        }
    }
}

/// While the server stops, a connection that has had no request is closed after this time: its client connected while the server
/// still listened, and the first request may be on its way.
const FIRST_REQUEST_GRACE: Duration = Duration::from_millis(500);

/// Flushes the answers, then reads.
fn poll_more<D>(
    cx: &mut Context<'_>,
    server: &ServerState<D>,
    stream: &mut BufferedStream,
    counters: &CounterHandle,
) -> Poll<ReadResult> {
    if !stream.write_queue.is_empty() {
        defer_next_write();
    }
    match stream.poll_flush(cx) {
        Poll::Ready(Ok(())) => {}
        Poll::Ready(Err(_)) => return Poll::Ready(ReadResult::Close(CloseMode::Drop)),
        Poll::Pending => return Poll::Pending,
    }
    if stream.eof {
        return Poll::Ready(ReadResult::Close(CloseMode::Close));
    }
    let idle = stream.read_buf.is_empty();
    match stream.poll_fill(cx, READ_SIZE) {
        Poll::Ready(Ok(1..)) => {
            if idle {
                // The idle time is over; the head's time begins.
                stream.read_timer.stop();
            }
            return Poll::Ready(ReadResult::Bytes);
        }
        Poll::Ready(Ok(0)) => return Poll::Ready(ReadResult::Close(CloseMode::Close)),
        Poll::Ready(Err(_)) => return Poll::Ready(ReadResult::Close(CloseMode::Drop)),
        Poll::Pending => {}
    }
    if counters.is_evicted() {
        return Poll::Ready(ReadResult::Close(CloseMode::Close));
    }
    if !idle {
        return stream.read_timer.poll(cx, server.config.head_timeout, Instant::now).map(|()| ReadResult::TooSlow);
    }
    stream.trim();
    // A front gateway may be about to send: its idle connections stay open, as `hop.rs` says.
    if server.drain.phase() >= Phase::Draining && !stream.is_hop() {
        if !counters.is_fresh() {
            return Poll::Ready(ReadResult::Close(CloseMode::Close));
        }
        stream.read_timer.shorten(FIRST_REQUEST_GRACE);
    }
    let late = || server.clock.recent() + TICK;
    let idle_timeout = server.config.idle_timeout(counters.is_fresh() && !stream.is_hop());
    stream.read_timer.poll(cx, idle_timeout, late).map(|()| ReadResult::Close(CloseMode::Close))
}
