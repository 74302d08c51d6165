//! The front at an address of its own, from the moment it listens to the moment nothing of it is left.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hearth_gateway::{Compression, Config, Listener, Server};
use hearth_sandbox::Sandboxes;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::front::{FrontConfig, McpFront};

/// For who waits for an answer, to hear that there is none.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// Longest silence of a body: a client that uploads a file may be slow, but not silent.
const SILENCE: Duration = Duration::from_secs(60);

pub struct McpListener {
    address: SocketAddr,
    front: Arc<McpFront>,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl McpListener {
    /// Must be called within a runtime.
    pub fn start(listener: TcpListener, config: FrontConfig, sandboxes: Sandboxes) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let front = Arc::new(McpFront::new(config, address, sandboxes));
        let config = Config {
            default_host: address.to_string(),
            max_body: McpFront::LARGEST_BODY,
            body_timeout: SILENCE,
            drain_timeout: LAST_ANSWERS,
            // Its clients are near, and its streams must not be held back.
            compression: Compression::Off,
            ..Config::default()
        };
        let server = Server::new(config, front.clone());
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(async move {
            server.serve(vec![Listener::Plain(listener)], stopped).await;
        });
        Ok(Self { address, front, stop, ended })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sessions that are there now.
    pub fn sessions(&self) -> usize {
        self.front.sessions()
    }

    /// Ready when all sessions have ended, and their sandboxes are gone.
    pub async fn stop(self) {
        drop(self.stop);
        self.front.end().await;
        // A client that does not take its answer has had its time.
        let _ = tokio::time::timeout(LAST_ANSWERS, self.ended).await;
    }
}
