//! The server at standard input and output, for one client: the session is there until the input ends. Nothing but the
//! protocol is ever written to the output.

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

/// How clients without a handshake name what they speak.
const STATELESS: ProtocolVersion = ProtocolVersion::V_2026_07_28;

/// Serves one client until its input ends or `stop` is ready. Its sandboxes are gone when this returns.
pub async fn serve_stdio<R, W>(sandboxes: Sandboxes, input: R, output: W, stop: impl Future<Output = ()>)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let session = Arc::new(Session::new(sandboxes, None));
    let pipe = Pipe { inner: AsyncRwTransport::new_server(input, output), ended: session.ending(), begun: Begun::No };
    let server = McpServer::new(session.clone());
    let served = async {
        match rmcp::serve_server::<_, _, _, TransportAdapterIdentity>(server, pipe).await {
            Ok(running) => drop(running.waiting().await),
            Err(error) => tracing::debug!(%error, "The session did not begin"),
        }
    };
    tokio::select! {
        () = served => {}
        () = stop => {}
    }
    session.end().await;
}

struct Pipe<R: AsyncRead, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, R, W>,
    /// Told when the input ends, so that what still runs is not waited for.
    ended: CancellationToken,
    begun: Begun,
}

#[derive(PartialEq, Eq)]
enum Begun {
    No,
    Yes,
}

impl<R, W> Transport<RoleServer> for Pipe<R, W>
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
                self.ended.cancel();
                return None;
            };
            if self.begun == Begun::No {
                // A notification before the first request would end the conversation.
                let ClientJsonRpcMessage::Request(request) = &message else { continue };
                if begins(&request.request) {
                    self.begun = Begun::Yes;
                }
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inner.close().await
    }
}

/// Whether a request begins a conversation: by a handshake, or by bringing with itself what one would agree upon. To others the
/// machinery answers with an error, and waits for the next.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let is_known = |version: ProtocolVersion| ProtocolVersion::KNOWN_VERSIONS.contains(&version);
            meta.missing_required_keys(&STATELESS).is_empty() && meta.protocol_version().is_some_and(is_known)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "stdio/tests.rs"]
mod tests;
