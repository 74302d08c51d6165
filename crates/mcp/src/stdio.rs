//! The server at standard input and output, for one client: the session is there until the input ends. Nothing but the
//! protocol is ever written to the output.

use std::io;
use std::sync::Arc;

use hearth_sandbox::Sandboxes;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{Transport, TransportAdapterIdentity};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::server::McpServer;
use crate::session::Session;
use crate::tidy;

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
                if let Some(refusal) = tidy::before_initialize(&message) {
                    // A client that does not read ends its input too.
                    let _ = self.inner.send(refusal).await;
                    continue;
                }
                // There is nobody yet whom a notification could tell anything.
                let JsonRpcMessage::Request(request) = &message else { continue };
                if let ClientRequest::InitializeRequest(_) = request.request {
                    self.begun = Begun::Yes;
                }
            }
            return Some(tidy::incoming(message));
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inner.close().await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "stdio/tests.rs"]
mod tests;
