//! One session over HTTP. It lasts from `initialize` until its client ends it (`DELETE`), until it was idle for too long, or
//! until the server stops; then its sandboxes are destroyed.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{ClientConfig, ClientJsonRpcMessage, ClientNotification};
use rmcp::service::{RunningService, serve_directly};
use rmcp::transport::TransportAdapterIdentity;
use tokio::sync::mpsc::{Sender, channel};

use super::message_router::MessageRouter;
use super::service::ToolSet;
use super::transport::SessionTransport;
use crate::conformance::Conformance;
use crate::server::McpServer;
use crate::session::Session;

/// Messages that wait for the protocol's task, which takes them as they come.
const INBOX_CAPACITY: usize = 64;

pub(super) struct HttpSession {
    session: Arc<Session>,
    router: Arc<MessageRouter>,
    /// `None` once the session has ended.
    inbox: Mutex<Option<Sender<ClientJsonRpcMessage>>>,
    activity: Mutex<Activity>,
    /// The client's identity and the negotiated protocol, set when the session is initialized.
    client: OnceLock<Arc<ClientConfig>>,
}

/// Counts what is open of a session: requests and event streams.
struct Activity {
    open: usize,
    /// The time of the last change of `open`.
    since: Instant,
}

/// The session is not idle while a guard exists.
pub(super) struct ActivityGuard(Arc<HttpSession>);

/// The session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SessionEnded;

impl HttpSession {
    pub(super) fn open(what: ToolSet, session: Arc<Session>) -> Arc<Self> {
        let (http_session, transport) = Self::new(session, MessageRouter::default(), Duration::ZERO);
        match what {
            ToolSet::Sandboxes => http_session.begin(McpServer::new(http_session.session.clone()), transport),
            ToolSet::Conformance => http_session.begin(Conformance::default(), transport),
        }
        http_session
    }

    fn begin(self: &Arc<Self>, server: impl ServerHandler, transport: SessionTransport) {
        let http_session = self.clone();
        tokio::spawn(async move {
            match rmcp::serve_server::<_, _, _, TransportAdapterIdentity>(server, transport).await {
                Ok(running) => http_session.serve(running).await,
                Err(error) => tracing::debug!(%error, "MCP session failed to initialize"),
            }
            http_session.router.close();
        });
    }

    /// Continues a session of the previous program. `idle` is how long it was idle there.
    pub(super) fn resume(
        session: Arc<Session>,
        client: ClientConfig,
        router: MessageRouter,
        idle: Duration,
    ) -> Arc<Self> {
        let (http_session, transport) = Self::new(session, router, idle);
        let (server, served) = (McpServer::new(http_session.session.clone()), http_session.clone());
        tokio::spawn(async move {
            let running = serve_directly::<_, _, _, _, TransportAdapterIdentity>(server, transport, Some(client));
            served.serve(running).await;
            served.router.close();
        });
        http_session
    }

    fn new(session: Arc<Session>, router: MessageRouter, idle: Duration) -> (Arc<Self>, SessionTransport) {
        let (sender, inbox) = channel(INBOX_CAPACITY);
        let router = Arc::new(router);
        let transport = SessionTransport { inbox, router: router.clone() };
        let now = Instant::now();
        let http_session = Self {
            session,
            router,
            inbox: Mutex::new(Some(sender)),
            activity: Mutex::new(Activity { open: 0, since: now.checked_sub(idle).unwrap_or(now) }),
            client: OnceLock::new(),
        };
        (Arc::new(http_session), transport)
    }

    async fn serve(&self, running: RunningService<RoleServer, impl ServerHandler>) {
        if let Some(client) = running.peer().peer_info() {
            // A session is initialized once, so the cell is empty.
            let _ = self.client.set(client);
        }
        drop(running.waiting().await);
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// `None` before the session is initialized.
    pub(super) fn client(&self) -> Option<&ClientConfig> {
        self.client.get().map(|client| &**client)
    }

    pub(super) fn router(&self) -> &MessageRouter {
        &self.router
    }

    pub(super) fn begin_activity(self: &Arc<Self>) -> ActivityGuard {
        self.activity().open += 1;
        ActivityGuard(self.clone())
    }

    /// How long the session has been idle; `None` while a request or stream is open.
    pub(super) fn idle(&self) -> Option<Duration> {
        let activity = self.activity();
        (activity.open == 0).then(|| activity.since.elapsed())
    }

    pub(super) fn is_open(&self) -> bool {
        self.inbox().is_some()
    }

    pub(super) async fn send(&self, message: ClientJsonRpcMessage) -> Result<(), SessionEnded> {
        let inbox = self.inbox().clone().ok_or(SessionEnded)?;
        if let ClientJsonRpcMessage::Notification(notification) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.router.cancel(id);
        }
        inbox.send(message).await.map_err(|_| SessionEnded)
    }

    /// Ready when the session's sandboxes are destroyed.
    pub(super) async fn end(&self) {
        self.inbox().take();
        self.session.end().await;
        self.router.close();
    }

    fn inbox(&self) -> MutexGuard<'_, Option<Sender<ClientJsonRpcMessage>>> {
        // No code that can panic runs under this lock, nor under that of `activity`.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn activity(&self) -> MutexGuard<'_, Activity> {
        self.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        let mut activity = self.0.activity();
        activity.open -= 1;
        activity.since = Instant::now();
    }
}
