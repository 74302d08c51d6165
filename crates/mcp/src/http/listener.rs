//! The MCP server's own listener: starts the service, hands its sessions to the next program, stops it.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hearth_gateway::{Compression, Config, Listener, Server};
use hearth_sandbox::Sandboxes;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::service::{McpService, McpServiceConfig};

/// For clients that wait for a response, to receive the error that ends it.
const FINAL_RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest pause in a request body: an upload may be slow but not silent.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// How often listener streams are ended while the server drains.
const DRAIN_POLL_INTERVAL: Duration = Duration::from_millis(100);

pub struct McpListener {
    address: SocketAddr,
    service: Arc<McpService>,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl McpListener {
    /// Listens without sessions of a previous program. Must be called within a runtime.
    pub fn start(listener: TcpListener, config: McpServiceConfig, sandboxes: Sandboxes) -> io::Result<Self> {
        Self::resume(listener, config, sandboxes, Value::Null)
    }

    /// Listens and continues the sessions that [`export`](Self::export) returned in the previous program.
    pub fn resume(
        listener: TcpListener,
        config: McpServiceConfig,
        sandboxes: Sandboxes,
        sessions: Value,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let listener = Listener::plain(listener)?;
        let drain_timeout = config.drain_timeout;
        let service = Arc::new(McpService::new(config, address, sandboxes));
        service.handlers().import(sessions);
        let config = Config {
            default_host: address.to_string(),
            max_body: McpService::MAX_BODY,
            body_timeout: BODY_TIMEOUT,
            drain_timeout,
            // Clients are near, and compression would hold back event streams.
            compression: Compression::Off,
            ..Config::default()
        };
        let server = Server::new(config, service.clone());
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(async move {
            server.serve(vec![listener], stopped).await;
        });
        Ok(Self { address, service, stop, ended })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Number of open sessions.
    pub fn sessions(&self) -> usize {
        self.service.sessions()
    }

    /// Accepts no more requests and drains those in flight. Returns what the next program needs to continue the sessions;
    /// their sandboxes stay.
    pub async fn export(self) -> Value {
        drop(self.stop);
        let mut ended = self.ended;
        loop {
            // A client may have reopened its listener stream before the server stopped accepting.
            self.service.handlers().end_listeners();
            // The server task ends by itself, at its drain deadline.
            if tokio::time::timeout(DRAIN_POLL_INTERVAL, &mut ended).await.is_ok() {
                return self.service.handlers().export().await;
            }
        }
    }

    /// Ready when all sessions have ended and their sandboxes are destroyed.
    pub async fn stop(self) {
        drop(self.stop);
        self.service.end().await;
        // A client that does not read its response in time is cut off.
        let _ = tokio::time::timeout(FINAL_RESPONSE_TIMEOUT, self.ended).await;
    }
}
