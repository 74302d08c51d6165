//! Listeners, connection limits and the shutdown.
//!
//! A connection needs a slot before it is accepted (`slots.rs`); with none free, accepting pauses and clients wait in the
//! kernel's queue. Each connection is a task of its own, or is served by a reactor (`hearth-reactor`), so a panic in a handler ends
//! that connection alone.
//! Shutdown: listeners close, idle connections end (or wait for one more request, where another process serves the clients from
//! then on), requests in flight finish with `connection: close`; what is left after `drain_timeout` is dropped.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hearth_core::{Dispatch, IdleConnections};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::accept_backoff::AcceptBackoff;
use crate::client_limit::{ClientConnectionLimit, ConnectionPermit};
use crate::clock::Clock;
use crate::config::{Config, Scheme};
use crate::connection::{self, Accepted};
use crate::drain::{Drain, Phase};
use crate::error_response::FailureLog;
use crate::log_throttle::LogThrottle;
use crate::peer::{Peer, Trust};
use crate::request_context::ServerState;
use crate::request_id::Ids;
use crate::slots::Slots;
use crate::stats::{Stats, Summary};
use crate::tls::{Certificates, Handshake};
use hearth_core::rate_limit::KeyedRateLimiter;
use hearth_reactor::{RawAcceptor, ReactorPool};

/// How long connections may take to end when the drain is over. One that is stuck inside a handler cannot end.
const OVER_TIMEOUT: Duration = Duration::from_secs(1);

pub struct Server<D> {
    server: Arc<ServerState<D>>,
}

/// Where connections come from.
#[derive(Debug)]
pub enum Listener {
    /// HTTP/1, and HTTP/2 with prior knowledge.
    Plain(RawAcceptor),
    /// HTTP/2 and HTTP/1 over TLS.
    Tls(RawAcceptor, Arc<Certificates>),
    /// Front gateways in other processes ([`Hop`](crate::Hop)). Every peer that can connect is trusted.
    Hop(UnixListener),
}

impl<D: Dispatch> Server<D> {
    pub fn new(config: Config, dispatch: Arc<D>) -> Self {
        let server = ServerState {
            dispatch,
            failures: FailureLog::new(),
            clock: Clock::new(),
            ids: Ids::new(),
            stats: Stats::default(),
            drain: Drain::default(),
            rates: KeyedRateLimiter::new(config.rate_limit_clients),
            config,
        };
        Self { server: Arc::new(server) }
    }

    /// The counts, to be read while the server runs.
    pub fn stats(&self) -> Stats {
        self.server.stats.clone()
    }

    /// Serves until `shutdown` is ready and the drain is over. Must run on a tokio runtime with I/O and time.
    pub async fn serve(self, listeners: Vec<Listener>, shutdown: impl Future) -> Summary {
        self.serve_until(listeners, async {
            shutdown.await;
            IdleConnections::Close
        })
        .await
    }

    /// The same, where `shutdown` decides what becomes of idle connections.
    pub async fn serve_until(
        self,
        listeners: Vec<Listener>,
        shutdown: impl Future<Output = IdleConnections>,
    ) -> Summary {
        let server = self.server;
        let slots = Arc::new(Slots::new(&server.config, server.stats.clone()));
        let client_limit = Arc::new(ClientConnectionLimit::new(server.config.max_connections_per_client));
        let reactors = Arc::new(ReactorPool::default());
        let accept_failures = Arc::new(LogThrottle::default());
        let mut tasks = JoinSet::new();
        for listener in listeners {
            let state = AcceptState {
                slots: slots.clone(),
                client_limit: client_limit.clone(),
                reactors: reactors.clone(),
                accept_failures: accept_failures.clone(),
            };
            tasks.spawn(accept(listener, server.clone(), state));
        }
        let clock = server.clone();
        let clock_task = tokio::spawn(async move { clock.clock.run().await });
        let watched = slots.clone();
        let survey_task = tokio::spawn(async move { watched.survey().await });

        let idle = shutdown.await;
        tasks.shutdown().await;
        server.drain.enter(match idle {
            IdleConnections::Close => Phase::Draining,
            IdleConnections::ServeOneMore => Phase::DrainingKeepAlive,
        });
        if timeout(server.config.drain_timeout, slots.all_free()).await.is_err() {
            tracing::warn!(connections = slots.taken(), "connections outlived the drain");
            server.drain.enter(Phase::Over);
            if timeout(OVER_TIMEOUT, slots.all_free()).await.is_err() {
                tracing::error!(connections = slots.taken(), "connections stuck");
            }
        }
        clock_task.abort();
        survey_task.abort();
        reactors.stop();
        let summary = server.stats.summary();
        // Requests that are still being torn down will not be answered any more.
        Summary { aborted: summary.aborted + summary.in_flight, in_flight: 0, ..summary }
    }
}

/// What the accept loops of all listeners share.
struct AcceptState {
    slots: Arc<Slots>,
    client_limit: Arc<ClientConnectionLimit>,
    reactors: Arc<ReactorPool>,
    accept_failures: Arc<LogThrottle>,
}

async fn accept<D: Dispatch>(listener: Listener, server: Arc<ServerState<D>>, state: AcceptState) {
    let mut backoff = AcceptBackoff::default();
    loop {
        let slot = state.slots.take(&listener).await;
        let (accepted, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                backoff.wait(&error, &state.accept_failures).await;
                continue;
            }
        };
        let Some((peer, permit)) = admit(&server, &listener, &state, address) else { continue };
        let server = server.clone();
        let serve = async move |accepted| {
            let _held = (slot, permit);
            connection::serve(server, accepted, peer).await;
        };
        match accepted {
            Incoming::Plain(stream) => {
                let adopted = state.reactors.add(stream, |socket| Box::pin(serve(Accepted::Plain(socket))));
                match adopted {
                    Ok(()) => backoff.reset(),
                    Err(error) => backoff.wait(&error, &state.accept_failures).await,
                }
            }
            Incoming::Tls(handshake) => {
                backoff.reset();
                tokio::spawn(async move { serve(Accepted::Tls(handshake)).await });
            }
            Incoming::Hop(unix) => {
                backoff.reset();
                tokio::spawn(async move { serve(Accepted::Hop(unix)).await });
            }
        }
    }
}

/// The peer and its permit, unless the client is at its limit.
fn admit<D>(
    server: &ServerState<D>,
    listener: &Listener,
    state: &AcceptState,
    address: Option<SocketAddr>,
) -> Option<(Peer, ConnectionPermit)> {
    let scheme = match listener {
        Listener::Plain(_) | Listener::Hop(_) => server.config.scheme,
        Listener::Tls(..) => Scheme::Https,
    };
    let peer = match address {
        Some(address) => Peer::new(address.ip(), scheme, &server.config.trusted_proxies),
        None => Peer::hop(),
    };
    let permit = match peer.trust {
        Trust::Proxy | Trust::Hop => Some(ConnectionPermit::uncounted()),
        Trust::None => state.client_limit.acquire(peer.address),
    };
    if permit.is_none() {
        server.stats.refuse_connection();
        state.slots.log_refused(peer.address);
    }
    Some((peer, permit?))
}

/// A connection that was just accepted.
enum Incoming {
    Plain(std::net::TcpStream),
    Tls(Handshake),
    Hop(UnixStream),
}

// === impl Listener ===

impl Listener {
    /// Must be called on the runtime that is to serve.
    pub fn plain(listener: std::net::TcpListener) -> io::Result<Self> {
        RawAcceptor::new(listener).map(Self::Plain)
    }

    /// The same over TLS.
    pub fn tls(listener: std::net::TcpListener, certificates: Arc<Certificates>) -> io::Result<Self> {
        RawAcceptor::new(listener).map(|socket| Self::Tls(socket, certificates))
    }

    /// Ready when a client waits to be accepted; at once where that cannot be known.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Plain(socket) | Self::Tls(socket, _) => socket.readable().await,
            Self::Hop(_) => Ok(()),
        }
    }

    /// The next connection. One from a hop has no address. `TCP_NODELAY` is set, since each answer is one write, which Nagle's
    /// algorithm would only delay; an error is ignored.
    async fn accept(&self) -> io::Result<(Incoming, Option<SocketAddr>)> {
        Ok(match self {
            Self::Plain(socket) => {
                let (stream, address) = socket.accept().await?;
                let _ = stream.set_nodelay(true);
                (Incoming::Plain(stream), Some(address))
            }
            Self::Tls(socket, certificates) => {
                let (stream, address) = socket.accept().await?;
                let _ = stream.set_nodelay(true);
                (Incoming::Tls(certificates.handshake(TcpStream::from_std(stream)?)), Some(address))
            }
            Self::Hop(socket) => (Incoming::Hop(socket.accept().await?.0), None),
        })
    }
}
