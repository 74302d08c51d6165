//! One session over HTTP. It is there from `initialize` until its client ends it (`DELETE`), until nothing of it was open for
//! too long, or until the server ends; then its sandboxes go.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{ClientJsonRpcMessage, ClientNotification};
use rmcp::transport::TransportAdapterIdentity;
use tokio::sync::mpsc::{Sender, channel};

use super::outbox::Outbox;
use super::wire::Wire;
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
    pub(super) fn open(session: Arc<Session>) -> Arc<Self> {
        let (sender, inbox) = channel(INBOX);
        let outbox = Arc::new(Outbox::default());
        let wire = Wire { inbox, outbox: outbox.clone() };
        let server = McpServer::new(session.clone());
        let line = Arc::new(Self {
            session,
            outbox,
            inbox: Mutex::new(Some(sender)),
            use_: Mutex::new(Use { open: 0, since: Instant::now() }),
        });
        let served = line.clone();
        tokio::spawn(async move {
            match rmcp::serve_server::<_, _, _, TransportAdapterIdentity>(server, wire).await {
                Ok(running) => drop(running.waiting().await),
                Err(error) => tracing::debug!(%error, "A session did not begin"),
            }
            served.outbox.close();
        });
        line
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
        if let ClientJsonRpcMessage::Notification(notification) = &message {
            if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                if let Some(id) = &cancelled.params.request_id {
                    self.outbox.cancel(id);
                }
            }
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
