//! Serves an HTTP/2 connection.
//!
//! ```text
//! preface --> Open --idle for keep_alive_timeout, or the drain begins--> Closing --streams have ended--> end
//!                                                                          `-- nothing from the client for CLOSE_TIMEOUT
//! ```
//! In `Closing` the client was told (GOAWAY) that no new streams will be served; open ones go on. Each stream is a task of its
//! own, so that requests do not wait for each other; the tasks end with their connection.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::{Builder, Connection, SendResponse};
use hearth_core::Dispatch;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::clock::TICK;
use crate::counters::{CounterHandle, CounterView};
use crate::drain::Phase;
use crate::exchange::HIGH_WATER;
use crate::http2::exchange::{Http2Conn, exchange};
use crate::lazy_deadline::LazyDeadline;
use crate::peer::Peer;
use crate::request_context::ServerState;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How many bytes of it decide: no HTTP/1 request begins like this, and the HTTP/1 parser has rejected it.
const PREFACE_DECISIVE_LEN: usize = b"PRI * HTTP/2".len();

/// How much a client may send of one body before the app has read any of it.
const STREAM_WINDOW: u32 = 64 * 1024;
/// How much a client may send of all bodies together.
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// Streams that were reset and are remembered for frames that may still arrive.
const RESET_STREAMS: usize = 32;
/// Streams that the client has reset before they were accepted; more are an attack.
const PENDING_RESETS: usize = 32;
/// How long the client has to close after GOAWAY.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

enum Event {
    Request(Box<http::Request<RecvStream>>, SendResponse<Bytes>),
    /// The connection was idle for too long.
    Idle,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Closing,
}

/// The state of a connection between requests.
struct IdleState {
    view: CounterView,
    timer: LazyDeadline,
    state: State,
}

/// Whether these first bytes of a connection are HTTP/2's.
pub fn is_preface(bytes: &[u8]) -> bool {
    let common = bytes.len().min(PREFACE.len());
    common >= PREFACE_DECISIVE_LEN && bytes[..common] == PREFACE[..common]
}

/// Serves a connection to its end.
pub async fn serve<D: Dispatch, S>(server: &Arc<ServerState<D>>, io: S, peer: Peer, counters: CounterHandle)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Some(mut connection) = begin(server, io).await else { return };
    let view = counters.view();
    let conn = Arc::new(Http2Conn { server: server.clone(), peer, counters: Mutex::new(counters) });
    let (mut streams, mut idle) =
        (JoinSet::new(), IdleState { view, timer: LazyDeadline::default(), state: State::Open });
    loop {
        match poll_fn(|cx| poll_event(cx, server, &mut connection, &mut streams, &mut idle)).await {
            Event::Request(request, respond) => {
                streams.spawn(exchange(conn.clone(), *request, respond));
            }
            Event::Idle if idle.state == State::Open => close(&mut connection, &mut idle),
            Event::Idle | Event::End => break,
        }
    }
    // Streams that are still open are told by this that their client is gone, and end.
    drop(connection);
    while streams.join_next().await.is_some() {}
}

async fn begin<D, S>(server: &ServerState<D>, io: S) -> Option<Connection<S, Bytes>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let config = &server.config;
    let mut builder = Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(config.max_streams.max(1))
        .max_header_list_size(u32::try_from(config.max_head.bytes()).unwrap_or(u32::MAX))
        .max_send_buffer_size(HIGH_WATER)
        .enable_connect_protocol()
        .max_concurrent_reset_streams(RESET_STREAMS)
        .max_pending_accept_reset_streams(PENDING_RESETS);
    let handshake = builder.handshake(io);
    let result = if config.head_timeout.is_zero() {
        handshake.await
    } else {
        timeout(config.head_timeout, handshake).await.ok()?
    };
    result.inspect_err(|error| tracing::debug!(%error, "HTTP/2 handshake failed")).ok()
}

fn poll_event<D, S>(
    cx: &mut Context<'_>,
    server: &ServerState<D>,
    connection: &mut Connection<S, Bytes>,
    streams: &mut JoinSet<()>,
    idle: &mut IdleState,
) -> Poll<Event>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    // Takes the results of streams that have ended, also of those that panicked.
    while let Poll::Ready(Some(_)) = streams.poll_join_next(cx) {}
    if idle.state == State::Open && server.drain.phase() != Phase::Open {
        close(connection, idle);
    }
    match connection.poll_accept(cx) {
        Poll::Ready(Some(Ok((request, respond)))) => {
            idle.timer.stop();
            return Poll::Ready(Event::Request(Box::new(request), respond));
        }
        Poll::Ready(Some(Err(error))) => {
            tracing::debug!(%error, "HTTP/2 connection failed");
            return Poll::Ready(Event::End);
        }
        Poll::Ready(None) => return Poll::Ready(Event::End),
        Poll::Pending => {}
    }
    if !streams.is_empty() {
        // Streams have deadlines of their own.
        idle.timer.stop();
        return Poll::Pending;
    }
    if idle.state == State::Open && idle.view.is_evicted() {
        return Poll::Ready(Event::End);
    }
    let timeout = match idle.state {
        State::Open => server.config.idle_timeout(idle.view.is_fresh()),
        State::Closing => CLOSE_TIMEOUT,
    };
    idle.timer.poll(cx, timeout, || server.clock.recent() + TICK).map(|()| Event::Idle)
}

fn close<S>(connection: &mut Connection<S, Bytes>, idle: &mut IdleState)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    connection.graceful_shutdown();
    idle.timer.stop();
    idle.state = State::Closing;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preface_is_recognised_by_its_start() {
        assert!(is_preface(PREFACE) && is_preface(&[PREFACE, b"rest"].concat()) && is_preface(b"PRI * HTTP/2"));
        assert!(!is_preface(b"PRI * HTTP/") && !is_preface(b"PRI / HTTP/2.0") && !is_preface(b"GET / HTTP/2.0\r\n"));
        assert!(!is_preface(b"PRI * HTTP/2.0\r\nHost: h\r\n\r\n"));
    }
}
