//! Requests that become WebSockets. Which do is settled by the client's head (RFC 6455, 4.2.1) and by the app's answer: where
//! both agree, the connection is no longer HTTP's, and ends with the socket.
//!
//! A request that asks and is answered otherwise is a request like any other. When the server stops, sockets are told to go
//! elsewhere (1001), and have as long as requests have.

use std::future::poll_fn;

use hearth_core::websocket::Close;
use hearth_core::{Response, SocketEnd};
use hearth_websocket::handshake::{self, Offer, Refusal};
use hearth_websocket::{Config, Connection, Deflate, Ended, Role, deflate};

use crate::access::RequestOutcome;
use crate::asked::{Asked, Shared};
use crate::config::Compression;
use crate::drain::Phase;
use crate::exchange::{Line, Then};
use crate::head::{Head, HttpVersion, Upgrade};
use crate::reject::Reject;
use crate::response::{Situation, write_switch};
use crate::wire::Ending;

/// What the client is to be told if the app agrees.
pub struct Agreement {
    /// The answer to its key; empty in HTTP/2, where there is none.
    pub accept: String,
    pub deflate: Deflate,
}

/// `None`: it asked for nothing of the kind.
pub fn asked(head: &mut Head, compression: Compression) -> Result<Option<Agreement>, Reject> {
    let says = |name: &str| head.headers.contains(name);
    let means_it = || head.version == HttpVersion::Http2 || says("sec-websocket-key") || says("sec-websocket-version");
    if head.upgrade != Upgrade::WebSocket || !means_it() {
        return Ok(None);
    }
    let answer = match head.version {
        HttpVersion::Http2 => handshake::check_version(&head.headers).map(|()| {
            // There is none, but apps, and other processes of ours, may look for one.
            head.headers.set("sec-websocket-key", Offer::new(Vec::new()).key().as_bytes());
            String::new()
        }),
        HttpVersion::Http10 | HttpVersion::Http11 => handshake::answer(&head.headers),
    };
    match answer {
        Ok(accept) => {
            // The one hop-by-hop header that apps must see: it is how they know.
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

/// Switches, and runs the socket to its end.
pub async fn serve<D>(
    shared: &Shared<D>,
    line: &mut Line,
    asked: Asked,
    agreement: Agreement,
    response: Response,
    end: Box<SocketEnd>,
) -> Then {
    let date = line.date.at(shared.clock.unix());
    let situation = Situation { id: &asked.id, date, version: asked.version, is_head: false, keep_alive: true };
    let dropped = write_switch(line.wire.outbox.text(), &response, &situation, &agreement);
    shared.stats.drop_headers(dropped);
    let ended = match poll_fn(|cx| line.wire.poll_flush(cx)).await {
        Ok(()) => run(shared, line, end, agreement.deflate).await,
        Err(_) => None,
    };
    match ended {
        Some(Ended::Closed) => {
            asked.log(Some(response.status), 0, RequestOutcome::Answered);
            line.tally.serve(response.status);
        }
        Some(Ended::Failed(fault)) => {
            tracing::debug!(request.id = %asked.id, %fault, "WebSocket failed");
            asked.log(Some(response.status), 0, RequestOutcome::CutOff);
            line.tally.abort();
        }
        None => {
            asked.log(None, 0, RequestOutcome::ClientGone);
            line.tally.abort();
        }
    }
    Then::End(Ending::Drop)
}

async fn run<D>(shared: &Shared<D>, line: &mut Line, end: Box<SocketEnd>, deflate: Deflate) -> Option<Ended> {
    let (inbox, stream) = line.wire.lend();
    let mut connection = Connection::new(stream, inbox, Role::Server, end, Config { deflate, ..Config::default() });
    let ended = poll_fn(|cx| {
        // Every change of phase wakes this task; saying it again changes nothing.
        if shared.drain.phase() != Phase::Open {
            connection.go_away(&Close::new(1001, "the server is shutting down"));
        }
        connection.poll(cx)
    });
    Some(ended.await)
}
