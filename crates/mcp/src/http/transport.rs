//! The SDK's view of a session: a transport that receives the messages of many requests in order, and whose sent messages the
//! router delivers to the request that each belongs to.

use std::convert::Infallible;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc::Receiver;

use super::message_router::MessageRouter;

pub(super) struct SessionTransport {
    pub(super) inbox: Receiver<ClientJsonRpcMessage>,
    pub(super) router: Arc<MessageRouter>,
}

impl Transport<RoleServer> for SessionTransport {
    type Error = Infallible;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        self.router.deliver(item);
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.inbox.recv().await
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        self.router.close();
        Ok(())
    }
}
