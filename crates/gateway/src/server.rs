//! Listeners, the limits of connections, and the shutdown.
//!
//! A connection needs a slot before it is accepted (`slots.rs`); with none free, accepting pauses and clients wait in the
//! kernel's queue. Each connection is a task of its own, or has a seat in the rounds (`rounds/`), so a panic in a handler ends that
//! connection alone.
//! Shutdown: listeners close, idle connections end (or wait for one more request, where others serve those after it),
//! requests in flight finish with `connection: close`; what is left after `drain_timeout` is dropped.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hearth_core::{Dispatch, IdleConnections};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::asked::Shared;
use crate::clock::Clock;
use crate::config::{Config, Scheme};
use crate::connection::{self, Accepted};
use crate::crowd::{Crowd, Place};
use crate::drain::{Drain, Phase};
use crate::peer::{Peer, Trust};
use crate::rate_limit::KeyedRateLimiter;
use crate::request_id::Ids;
use crate::rescue::FailureLog;
use crate::rounds::{Circles, Doorway};
use crate::slots::Slots;
use crate::stats::{Stats, Summary};
use crate::tls::{Certificates, Handshake};

/// Before the next try, when the system has no more descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// For connections to notice that the drain is over. One that is stuck inside a handler cannot.
const OVER_TIMEOUT: Duration = Duration::from_secs(1);

pub struct Server<D> {
    shared: Arc<Shared<D>>,
}

/// Where connections come from.
#[derive(Debug)]
pub enum Listener {
    /// HTTP/1, and HTTP/2 for clients that know.
    Plain(Doorway),
    /// HTTP/2 and HTTP/1 over TLS.
    Tls(Doorway, Arc<Certificates>),
    /// Fronts of ours in other processes ([`Hop`](crate::Hop)). Whoever can connect is believed.
    Hop(UnixListener),
}

impl<D: Dispatch> Server<D> {
    pub fn new(config: Config, dispatch: Arc<D>) -> Self {
        let shared = Shared {
            dispatch,
            failures: FailureLog::new(),
            clock: Clock::new(),
            ids: Ids::new(),
            stats: Stats::default(),
            drain: Drain::default(),
            rates: KeyedRateLimiter::new(config.rate_limit_clients),
            config,
        };
        Self { shared: Arc::new(shared) }
    }

    /// The counts, to be read while the server runs.
    pub fn stats(&self) -> Stats {
        self.shared.stats.clone()
    }

    /// Serves until `shutdown` is ready and the drain is over. Must run on a tokio runtime with I/O and time.
    pub async fn serve(self, listeners: Vec<Listener>, shutdown: impl Future) -> Summary {
        self.serve_until(listeners, async {
            shutdown.await;
            IdleConnections::Close
        })
        .await
    }

    /// The same, where `shutdown` says what becomes of idle connections.
    pub async fn serve_until(
        self,
        listeners: Vec<Listener>,
        shutdown: impl Future<Output = IdleConnections>,
    ) -> Summary {
        let shared = self.shared;
        let slots = Arc::new(Slots::new(&shared.config, shared.stats.clone()));
        let crowd = Arc::new(Crowd::new(shared.config.max_connections_per_client));
        let circles = Arc::new(Circles::default());
        let mut tasks = JoinSet::new();
        for listener in listeners {
            let door = Door { slots: slots.clone(), crowd: crowd.clone(), circles: circles.clone() };
            tasks.spawn(accept(listener, shared.clone(), door));
        }
        let clock = shared.clone();
        let ticker = tokio::spawn(async move { clock.clock.run().await });
        let watched = slots.clone();
        let surveyor = tokio::spawn(async move { watched.survey().await });

        let idle = shutdown.await;
        tasks.shutdown().await;
        shared.drain.enter(match idle {
            IdleConnections::Close => Phase::Draining,
            IdleConnections::ServeOneMore => Phase::Leaving,
        });
        if timeout(shared.config.drain_timeout, slots.all_free()).await.is_err() {
            tracing::warn!(connections = slots.taken(), "Connections outlived the drain");
            shared.drain.enter(Phase::Over);
            if timeout(OVER_TIMEOUT, slots.all_free()).await.is_err() {
                tracing::error!(connections = slots.taken(), "Connections are stuck");
            }
        }
        ticker.abort();
        surveyor.abort();
        circles.stop();
        let summary = shared.stats.summary();
        // Whatever is still being torn down will not be answered any more.
        Summary { aborted: summary.aborted + summary.in_flight, in_flight: 0, ..summary }
    }
}

/// What connections of all listeners go through.
struct Door {
    slots: Arc<Slots>,
    crowd: Arc<Crowd>,
    circles: Arc<Circles>,
}

async fn accept<D: Dispatch>(listener: Listener, shared: Arc<Shared<D>>, door: Door) {
    loop {
        let slot = door.slots.take(&listener).await;
        let (accepted, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                pause(&error).await;
                continue;
            }
        };
        let Some((peer, place)) = admit(&shared, &listener, &door, address) else { continue };
        let shared = shared.clone();
        let serve = async move |accepted| {
            let _held = (slot, place);
            connection::serve(shared, accepted, peer).await;
        };
        match accepted {
            Incoming::Plain(stream) => {
                let adopted = door.circles.adopt(stream, |socket| Box::pin(serve(Accepted::Plain(socket))));
                if let Err(error) = adopted {
                    pause(&error).await;
                }
            }
            Incoming::Tls(handshake) => drop(tokio::spawn(async move { serve(Accepted::Tls(handshake)).await })),
            Incoming::Hop(unix) => drop(tokio::spawn(async move { serve(Accepted::Hop(unix)).await })),
        }
    }
}

/// Who it is, unless it is one too many of that client.
fn admit<D>(
    shared: &Shared<D>,
    listener: &Listener,
    door: &Door,
    address: Option<SocketAddr>,
) -> Option<(Peer, Place)> {
    let scheme = match listener {
        Listener::Plain(_) | Listener::Hop(_) => shared.config.scheme,
        Listener::Tls(..) => Scheme::Https,
    };
    let peer = match address {
        Some(address) => Peer::new(address.ip(), scheme, &shared.config.trusted_proxies),
        None => Peer::hop(),
    };
    let place = match peer.trust {
        Trust::Proxy | Trust::Hop => Some(Place::uncounted()),
        Trust::Nobody => door.crowd.enter(peer.address),
    };
    if place.is_none() {
        shared.stats.refuse_connection();
        door.slots.tell_refused(peer.address);
    }
    Some((peer, place?))
}

/// A connection that has no place yet.
enum Incoming {
    Plain(std::net::TcpStream),
    Tls(Handshake),
    Hop(UnixStream),
}

// === impl Listener ===

impl Listener {
    /// Must be called on the runtime that is to serve.
    pub fn plain(listener: std::net::TcpListener) -> io::Result<Self> {
        Doorway::open(listener).map(Self::Plain)
    }

    /// The same over TLS.
    pub fn tls(listener: std::net::TcpListener, certificates: Arc<Certificates>) -> io::Result<Self> {
        Doorway::open(listener).map(|socket| Self::Tls(socket, certificates))
    }

    /// Ready when somebody waits to be accepted; at once where that cannot be known.
    pub(crate) async fn knock(&self) -> io::Result<()> {
        match self {
            Self::Plain(socket) | Self::Tls(socket, _) => socket.knock().await,
            Self::Hop(_) => Ok(()),
        }
    }

    /// The next connection. One from a hop has no address. Answers go out in one write each, and waiting for more would only
    /// delay them: hence no delay; without it all works, but slower.
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

/// A connection that failed before it was accepted is no reason to wait; anything else is.
async fn pause(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted) {
        tracing::warn!(%error, "Accepting failed");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}
