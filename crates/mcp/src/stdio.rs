//! The server on standard input and output, for one client: the session lasts until the input ends. Only protocol messages are
//! written to the output.

use std::io;
use std::sync::Arc;

use hearth_sandbox::Sandboxes;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta, ProtocolVersion, ServerJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{Transport, TransportAdapterIdentity};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::server::McpServer;
use crate::session::Session;

/// The first protocol whose clients need no handshake.
const FIRST_STATELESS: ProtocolVersion = ProtocolVersion::V_2026_07_28;

/// Serves one client until its input ends or `stop` is ready. Its sandboxes are destroyed when this returns.
pub async fn serve_stdio<R, W>(sandboxes: Sandboxes, input: R, output: W, stop: impl Future<Output = ()>)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let session = Arc::new(Session::new(sandboxes, None));
    let transport = StdioTransport {
        inner: AsyncRwTransport::new_server(input, output),
        input_ended: session.ending(),
        initialized: false,
    };
    let server = McpServer::new(session.clone());
    let served = async {
        match rmcp::serve_server::<_, _, _, TransportAdapterIdentity>(server, transport).await {
            Ok(running) => drop(running.waiting().await),
            Err(error) => tracing::debug!(%error, "MCP session failed to initialize"),
        }
    };
    tokio::select! {
        () = served => {}
        () = stop => {}
    }
    session.end().await;
}

struct StdioTransport<R: AsyncRead, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, R, W>,
    /// Cancelled when the input ends, so that running calls end too.
    input_ended: CancellationToken,
    initialized: bool,
}

impl<R, W> Transport<RoleServer> for StdioTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.input_ended.cancel();
                return None;
            };
            if !self.initialized {
                // The SDK would end the session at a notification before the first request.
                let ClientJsonRpcMessage::Request(request) = &message else { continue };
                if initializes(&request.request) {
                    self.initialized = true;
                }
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inner.close().await
    }
}

/// Whether a request initializes the session: by a handshake, or by metadata that makes one unnecessary. The SDK answers others
/// with an error and waits for the next.
fn initializes(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let is_known = |version: ProtocolVersion| ProtocolVersion::KNOWN_VERSIONS.contains(&version);
            meta.missing_required_keys(&FIRST_STATELESS).is_empty() && meta.protocol_version().is_some_and(is_known)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "stdio/tests.rs"]
mod tests;
