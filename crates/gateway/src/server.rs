//! Listeners, the limit of connections, and the shutdown.
//!
//! A connection needs a slot before it is accepted; with none free, accepting pauses and clients wait in the kernel's
//! queue. Each connection is a task of its own, so a panic in a handler ends that connection alone.
//! Shutdown: listeners close, idle connections end, requests in flight finish with `connection: close`; what is left
//! after `drain_timeout` is dropped.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hearth_core::Dispatch;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::clock::Clock;
use crate::config::Config;
use crate::connection::{self, Shared};
use crate::drain::{Drain, Phase};
use crate::request_id::Ids;
use crate::rescue::FailureLog;
use crate::stats::{Stats, Summary};

/// Before the next try, when the system has no more descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// For connections to notice that the drain is over. One that is stuck inside a handler cannot.
const OVER_TIMEOUT: Duration = Duration::from_secs(1);

pub struct Server<D> {
    shared: Arc<Shared<D>>,
}

impl<D: Dispatch> Server<D> {
    pub fn new(config: Config, dispatch: Arc<D>) -> Self {
        let shared = Shared {
            config,
            dispatch,
            failures: FailureLog::new(),
            clock: Clock::new(),
            ids: Ids::new(),
            stats: Arc::new(Stats::default()),
            drain: Drain::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Serves until `shutdown` is ready and the drain is over. Must run on a tokio runtime with I/O and time.
    pub async fn serve(self, listeners: Vec<TcpListener>, shutdown: impl Future) -> Summary {
        let shared = self.shared;
        let limit = shared.config.max_connections.clamp(1, u32::MAX as usize >> 1);
        let slots = Arc::new(Semaphore::new(limit));
        let mut tasks = JoinSet::new();
        for listener in listeners {
            tasks.spawn(accept(listener, shared.clone(), slots.clone()));
        }
        let clock = shared.clone();
        let ticker = tokio::spawn(async move { clock.clock.run().await });

        shutdown.await;
        tasks.shutdown().await;
        shared.drain.enter(Phase::Draining);
        // All slots are free when all connections have ended.
        let all_ended = || slots.acquire_many(limit as u32);
        if timeout(shared.config.drain_timeout, all_ended()).await.is_err() {
            tracing::warn!(connections = limit - slots.available_permits(), "Connections outlived the drain");
            shared.drain.enter(Phase::Over);
            if timeout(OVER_TIMEOUT, all_ended()).await.is_err() {
                tracing::error!(connections = limit - slots.available_permits(), "Connections are stuck");
            }
        }
        ticker.abort();
        shared.stats.summary()
    }
}

async fn accept<D: Dispatch>(listener: TcpListener, shared: Arc<Shared<D>>, slots: Arc<Semaphore>) {
    loop {
        let Ok(slot) = slots.clone().acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                pause(&error).await;
                continue;
            }
        };
        let shared = shared.clone();
        tokio::spawn(async move {
            let _slot = slot;
            serve(shared, stream).await;
        });
    }
}

async fn serve<D: Dispatch>(shared: Arc<Shared<D>>, stream: TcpStream) {
    // Answers go out in one write each; waiting for more would only delay them. Without it all works, but slower.
    let _ = stream.set_nodelay(true);
    connection::serve(shared, stream).await;
}

/// A connection that failed before it was accepted is no reason to wait; anything else is.
async fn pause(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted) {
        tracing::warn!(%error, "Accepting failed");
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}
