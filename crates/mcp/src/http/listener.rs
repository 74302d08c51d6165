//! The front at an address of its own, from the moment it listens to the moment nothing of it is left.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hearth_gateway::{Compression, Config, Listener, Server};
use hearth_sandbox::Sandboxes;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::front::{FrontConfig, McpFront};

/// For who waits for an answer, to hear that there is none.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// Longest silence of a body: a client that uploads a file may be slow, but not silent.
const SILENCE: Duration = Duration::from_secs(60);

/// Between two looks at who listens.
const MOMENT: Duration = Duration::from_millis(100);

pub struct McpListener {
    address: SocketAddr,
    front: Arc<McpFront>,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl McpListener {
    /// Must be called within a runtime.
    pub fn start(listener: TcpListener, config: FrontConfig, sandboxes: Sandboxes) -> io::Result<Self> {
        Self::resume(listener, config, sandboxes, Value::Null)
    }

    /// The same, with the sessions that [`leave`](Self::leave) gave in the program before.
    pub fn resume(
        listener: TcpListener,
        config: FrontConfig,
        sandboxes: Sandboxes,
        sessions: Value,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let listener = Listener::plain(listener)?;
        let drain_timeout = config.drain_timeout;
        let front = Arc::new(McpFront::new(config, address, sandboxes));
        front.talk().resume(sessions);
        let config = Config {
            default_host: address.to_string(),
            max_body: McpFront::LARGEST_BODY,
            body_timeout: SILENCE,
            drain_timeout,
            // Its clients are near, and its streams must not be held back.
            compression: Compression::Off,
            ..Config::default()
        };
        let server = Server::new(config, front.clone());
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(async move {
            server.serve(vec![listener], stopped).await;
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

    /// Takes no more requests, and gives those under way their time. Says what the next program needs to go on with the
    /// sessions: their sandboxes stay.
    pub async fn leave(self) -> Value {
        drop(self.stop);
        let mut ended = self.ended;
        loop {
            // Somebody may have come back to listen before the door was shut.
            self.front.talk().hang_up();
            // It ends by itself, at its deadline.
            if tokio::time::timeout(MOMENT, &mut ended).await.is_ok() {
                return self.front.talk().leave().await;
            }
        }
    }

    /// Ready when all sessions have ended, and their sandboxes are gone.
    pub async fn stop(self) {
        drop(self.stop);
        self.front.end().await;
        // A client that does not take its answer has had its time.
        let _ = tokio::time::timeout(LAST_ANSWERS, self.ended).await;
    }
}
