//! Requests that become WebSockets. The client's head asks for it (RFC 6455, 4.2.1) and the app's answer accepts it; then the
//! connection is a WebSocket until it is closed.
//!
//! A request for a WebSocket that is answered otherwise is a request like any other. When the server stops, sockets are closed
//! with status 1001, and have as much time as requests have.

use std::future::poll_fn;

use hearth_core::websocket::Close;
use hearth_core::{Response, SocketEnd};
use hearth_websocket::handshake::{self, Offer, Refusal};
use hearth_websocket::{Config, Connection, Deflate, Ended, Role, deflate};

use crate::access::RequestOutcome;
use crate::buffered_stream::CloseMode;
use crate::config::Compression;
use crate::drain::Phase;
use crate::exchange::{ConnAction, Http1Conn};
use crate::head::{Head, HttpVersion, Upgrade};
use crate::reject::Reject;
use crate::request_context::{RequestContext, ServerState};
use crate::response::{HeadParams, write_switch};

/// What the client gets if the app accepts.
pub struct Agreement {
    /// The value of `sec-websocket-accept`; empty in HTTP/2, which has none.
    pub accept: String,
    pub deflate: Deflate,
}

/// Checks a request for a WebSocket. `None`: the client does not ask for one.
pub fn negotiate(head: &mut Head, compression: Compression) -> Result<Option<Agreement>, Reject> {
    let has = |name: &str| head.headers.contains(name);
    let has_handshake =
        || head.version == HttpVersion::Http2 || has("sec-websocket-key") || has("sec-websocket-version");
    if head.upgrade != Upgrade::WebSocket || !has_handshake() {
        return Ok(None);
    }
    let answer = match head.version {
        HttpVersion::Http2 => handshake::check_version(&head.headers).map(|()| {
            // HTTP/2 has no key, but apps, and the server's other processes, may check for one.
            head.headers.set("sec-websocket-key", Offer::new(Vec::new()).key().as_bytes());
            String::new()
        }),
        HttpVersion::Http10 | HttpVersion::Http11 => handshake::answer(&head.headers),
    };
    match answer {
        Ok(accept) => {
            // The one hop-by-hop header that apps get: it tells them that the client asks for a WebSocket.
            head.headers.push(b"upgrade", b"websocket");
            let deflate = match compression {
                Compression::On if deflate::is_offered(&head.headers) => Deflate::On,
                Compression::On | Compression::Off => Deflate::Off,
            };
            Ok(Some(Agreement { accept, deflate }))
        }
        Err(Refusal::Version) => Err(Reject::SocketVersion),
        Err(Refusal::Key) => Err(Reject::SocketKey),
    }
}

/// Switches the connection to a WebSocket, and serves it to its end.
pub async fn serve<D>(
    server: &ServerState<D>,
    conn: &mut Http1Conn,
    context: RequestContext,
    agreement: Agreement,
    response: Response,
    end: Box<SocketEnd>,
) -> ConnAction {
    let date = conn.date.at(server.clock.unix());
    let params = HeadParams { id: &context.id, date, version: context.version, is_head: false, keep_alive: true };
    let dropped = write_switch(conn.stream.write_queue.buffer(), &response, &params, &agreement);
    server.stats.drop_headers(dropped);
    let ended = match poll_fn(|cx| conn.stream.poll_flush(cx)).await {
        Ok(()) => run(server, conn, end, agreement.deflate).await,
        Err(_) => None,
    };
    match ended {
        Some(Ended::Closed) => {
            context.log(Some(response.status), 0, RequestOutcome::Answered);
            conn.counters.serve(response.status);
        }
        Some(Ended::Failed(fault)) => {
            tracing::debug!(request.id = %context.id, %fault, "WebSocket failed");
            context.log(Some(response.status), 0, RequestOutcome::CutOff);
            conn.counters.abort();
        }
        None => {
            context.log(None, 0, RequestOutcome::ClientGone);
            conn.counters.abort();
        }
    }
    ConnAction::Close(CloseMode::Drop)
}

async fn run<D>(server: &ServerState<D>, conn: &mut Http1Conn, end: Box<SocketEnd>, deflate: Deflate) -> Option<Ended> {
    let (read_buf, stream) = conn.stream.lend();
    let mut connection = Connection::new(stream, read_buf, Role::Server, end, Config { deflate, ..Config::default() });
    let ended = poll_fn(|cx| {
        // Every change of phase wakes this task; a second `go_away` has no effect.
        if server.drain.phase() != Phase::Open {
            connection.go_away(&Close::new(1001, "the server is shutting down"));
        }
        connection.poll(cx)
    });
    Some(ended.await)
}
