//! A connection's life.
//!
//! ```text
//! preface --> Open --idle for keep_alive_timeout, or the drain begins--> Closing --streams have ended--> end
//!                                                                          `-- nothing from the client for CLOSE_TIME
//! ```
//! `Closing` has told the client (GOAWAY) that no new streams will be served; those that are there go on. Each stream is
//! a task of its own, so that one request does not wait for the other; they end with their connection.

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

use crate::asked::Shared;
use crate::clock::TICK;
use crate::drain::Phase;
use crate::exchange::HIGH_WATER;
use crate::http2::exchange::{Line, exchange};
use crate::ledger::{Tally, Vigil};
use crate::peer::Peer;
use crate::timer::Timer;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Enough of it to be sure: no HTTP/1 request begins like this, and what begins like this has been refused as one.
const TELLING: usize = b"PRI * HTTP/2".len();

/// What a client may send of one body before the app has read any of it.
const STREAM_WINDOW: u32 = 64 * 1024;
/// What a client may send of all bodies together.
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// Streams that were reset, and are remembered for what may still come for them.
const RESET_STREAMS: usize = 32;
/// Streams that the client reset before we looked at them; more are an attack.
const PENDING_RESETS: usize = 32;
/// For the client to notice that we want to close.
const CLOSE_TIME: Duration = Duration::from_secs(5);

enum Event {
    Request(Box<http::Request<RecvStream>>, SendResponse<Bytes>),
    /// Nothing has happened for too long.
    Idle,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Closing,
}

/// What is known of a connection that has nothing to do.
struct Rest {
    vigil: Vigil,
    timer: Timer,
    state: State,
}

/// Whether these first bytes of a connection are HTTP/2's.
pub fn is_preface(bytes: &[u8]) -> bool {
    let common = bytes.len().min(PREFACE.len());
    common >= TELLING && bytes[..common] == PREFACE[..common]
}

/// Serves a connection to its end.
pub async fn serve<D: Dispatch, S>(shared: &Arc<Shared<D>>, io: S, peer: Peer, tally: Tally)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Some(mut connection) = begin(shared, io).await else { return };
    let vigil = tally.vigil();
    let line = Arc::new(Line { shared: shared.clone(), peer, tally: Mutex::new(tally) });
    let (mut streams, mut rest) = (JoinSet::new(), Rest { vigil, timer: Timer::default(), state: State::Open });
    loop {
        match poll_fn(|cx| poll_event(cx, shared, &mut connection, &mut streams, &mut rest)).await {
            Event::Request(request, respond) => {
                streams.spawn(exchange(line.clone(), *request, respond));
            }
            Event::Idle if rest.state == State::Open => close(&mut connection, &mut rest),
            Event::Idle | Event::End => break,
        }
    }
    // Those that are still there learn from this that their client is gone, and end by themselves.
    drop(connection);
    while streams.join_next().await.is_some() {}
}

async fn begin<D, S>(shared: &Shared<D>, io: S) -> Option<Connection<S, Bytes>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let config = &shared.config;
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
    result.inspect_err(|error| tracing::debug!(%error, "HTTP/2 did not begin")).ok()
}

fn poll_event<D, S>(
    cx: &mut Context<'_>,
    shared: &Shared<D>,
    connection: &mut Connection<S, Bytes>,
    streams: &mut JoinSet<()>,
    rest: &mut Rest,
) -> Poll<Event>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    // Those that ended well and those that panicked: either way nothing is left to do for them.
    while let Poll::Ready(Some(_)) = streams.poll_join_next(cx) {}
    if rest.state == State::Open && shared.drain.phase() != Phase::Open {
        close(connection, rest);
    }
    match connection.poll_accept(cx) {
        Poll::Ready(Some(Ok((request, respond)))) => {
            rest.timer.stop();
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
        // They have deadlines of their own.
        rest.timer.stop();
        return Poll::Pending;
    }
    if rest.state == State::Open && rest.vigil.is_evicted() {
        return Poll::Ready(Event::End);
    }
    let patience = match rest.state {
        State::Open => shared.config.silence(rest.vigil.is_fresh()),
        State::Closing => CLOSE_TIME,
    };
    rest.timer.poll(cx, patience, || shared.clock.recent() + TICK).map(|()| Event::Idle)
}

fn close<S>(connection: &mut Connection<S, Bytes>, rest: &mut Rest)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    connection.graceful_shutdown();
    rest.timer.stop();
    rest.state = State::Closing;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preface_is_known_by_its_start() {
        assert!(is_preface(PREFACE) && is_preface(&[PREFACE, b"rest"].concat()) && is_preface(b"PRI * HTTP/2"));
        assert!(!is_preface(b"PRI * HTTP/") && !is_preface(b"PRI / HTTP/2.0") && !is_preface(b"GET / HTTP/2.0\r\n"));
        assert!(!is_preface(b"PRI * HTTP/2.0\r\nHost: h\r\n\r\n"));
    }
}
