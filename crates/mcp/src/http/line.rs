//! One session over HTTP. It is there from `initialize` until its client ends it (`DELETE`), until nothing of it was open for
//! too long, or until the server ends; then its sandboxes go.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{ClientConfig, ClientJsonRpcMessage, ClientNotification};
use rmcp::service::{RunningService, serve_directly};
use rmcp::transport::TransportAdapterIdentity;
use tokio::sync::mpsc::{Sender, channel};

use super::front::Served;
use super::outbox::Outbox;
use super::wire::Wire;
use crate::conformance::Conformance;
use crate::server::McpServer;
use crate::session::Session;

/// Messages that wait to be looked at. They are looked at as they come.
const INBOX: usize = 64;

pub(super) struct Line {
    session: Arc<Session>,
    outbox: Arc<Outbox>,
    /// `None` once the session has ended.
    inbox: Mutex<Option<Sender<ClientJsonRpcMessage>>>,
    use_: Mutex<Use>,
    /// Who its client is and what was agreed upon, from when it has begun.
    client: OnceLock<Arc<ClientConfig>>,
}

/// Whether anything of a session is open: a request, a stream of events.
struct Use {
    open: usize,
    since: Instant,
}

/// While this is there, the session is in use.
pub(super) struct Presence(Arc<Line>);

/// The session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended;

impl Line {
    pub(super) fn open(what: Served, session: Arc<Session>) -> Arc<Self> {
        let (line, wire) = Self::new(session, Outbox::default(), Duration::ZERO);
        match what {
            Served::Sandboxes => line.begin(McpServer::new(line.session.clone()), wire),
            Served::Conformance => line.begin(Conformance::default(), wire),
        }
        line
    }

    fn begin(self: &Arc<Self>, server: impl ServerHandler, wire: Wire) {
        let line = self.clone();
        tokio::spawn(async move {
            match rmcp::serve_server::<_, _, _, TransportAdapterIdentity>(server, wire).await {
                Ok(running) => line.serve(running).await,
                Err(error) => tracing::debug!(%error, "A session did not begin"),
            }
            line.outbox.close();
        });
    }

    /// One that has begun in the program before. Nothing of it was open for so long.
    pub(super) fn resume(session: Arc<Session>, client: ClientConfig, outbox: Outbox, idle: Duration) -> Arc<Self> {
        let (line, wire) = Self::new(session, outbox, idle);
        let (server, served) = (McpServer::new(line.session.clone()), line.clone());
        tokio::spawn(async move {
            let running = serve_directly::<_, _, _, _, TransportAdapterIdentity>(server, wire, Some(client));
            served.serve(running).await;
            served.outbox.close();
        });
        line
    }

    fn new(session: Arc<Session>, outbox: Outbox, idle: Duration) -> (Arc<Self>, Wire) {
        let (sender, inbox) = channel(INBOX);
        let outbox = Arc::new(outbox);
        let wire = Wire { inbox, outbox: outbox.clone() };
        let now = Instant::now();
        let line = Self {
            session,
            outbox,
            inbox: Mutex::new(Some(sender)),
            use_: Mutex::new(Use { open: 0, since: now.checked_sub(idle).unwrap_or(now) }),
            client: OnceLock::new(),
        };
        (Arc::new(line), wire)
    }

    async fn serve(&self, running: RunningService<RoleServer, impl ServerHandler>) {
        if let Some(client) = running.peer().peer_info() {
            // It begins once.
            let _ = self.client.set(client);
        }
        drop(running.waiting().await);
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// `None` before it has begun.
    pub(super) fn client(&self) -> Option<&ClientConfig> {
        self.client.get().map(|client| &**client)
    }

    pub(super) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    pub(super) fn enter(self: &Arc<Self>) -> Presence {
        self.use_().open += 1;
        Presence(self.clone())
    }

    /// How long nothing of it has been open; `None` while something is.
    pub(super) fn idle(&self) -> Option<Duration> {
        let use_ = self.use_();
        (use_.open == 0).then(|| use_.since.elapsed())
    }

    pub(super) fn is_open(&self) -> bool {
        self.inbox().is_some()
    }

    pub(super) async fn say(&self, message: ClientJsonRpcMessage) -> Result<(), Ended> {
        let inbox = self.inbox().clone().ok_or(Ended)?;
        if let ClientJsonRpcMessage::Notification(notification) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.outbox.cancel(id);
        }
        inbox.send(message).await.map_err(|_| Ended)
    }

    /// Ready when its sandboxes are gone.
    pub(super) async fn end(&self) {
        self.inbox().take();
        self.session.end().await;
        self.outbox.close();
    }

    fn inbox(&self) -> MutexGuard<'_, Option<Sender<ClientJsonRpcMessage>>> {
        // No code that can panic runs under this lock; nor under the other.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn use_(&self) -> MutexGuard<'_, Use> {
        self.use_.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut use_ = self.0.use_();
        use_.open -= 1;
        use_.since = Instant::now();
    }
}
