//! A session as the protocol's machinery sees it: messages of many requests come in one after the other, and what it says
//! goes to whom it belongs.

use std::convert::Infallible;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc::Receiver;

use super::outbox::Outbox;

pub(super) struct Wire {
    pub(super) inbox: Receiver<ClientJsonRpcMessage>,
    pub(super) outbox: Arc<Outbox>,
}

impl Transport<RoleServer> for Wire {
    type Error = Infallible;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        self.outbox.deliver(item);
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.inbox.recv().await
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        self.outbox.close();
        Ok(())
    }
}
