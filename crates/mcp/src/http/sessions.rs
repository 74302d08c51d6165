//! The table of sessions over HTTP, by the id that their clients send.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::session_conn::HttpSession;

/// Upper limit of the time between two sweeps for idle sessions.
const MAX_SWEEP_INTERVAL: Duration = Duration::from_secs(10);

pub(super) struct SessionTable {
    state: Mutex<State>,
    max_sessions: usize,
}

#[derive(Default)]
struct State {
    sessions: HashMap<String, Arc<HttpSession>>,
    /// No more sessions are opened.
    closed: bool,
}

/// Why no session can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CannotOpen {
    #[error("there are {limit} sessions already, and no more are allowed: end one with DELETE")]
    Full { limit: usize },
    #[error("the server is shutting down")]
    Closed,
}

impl SessionTable {
    /// Spawns a task that ends sessions that were idle for `idle`, for as long as the table exists.
    pub(super) fn new(max_sessions: usize, idle: Duration) -> Arc<Self> {
        let table = Arc::new(Self { state: Mutex::default(), max_sessions });
        tokio::spawn(sweep(Arc::downgrade(&table), idle));
        table
    }

    /// `open` is not called if the table is full or closed.
    pub(super) fn add(
        &self,
        id: String,
        open: impl FnOnce() -> Arc<HttpSession>,
    ) -> Result<Arc<HttpSession>, CannotOpen> {
        let mut state = self.lock();
        if state.closed {
            return Err(CannotOpen::Closed);
        }
        if state.sessions.len() >= self.max_sessions {
            return Err(CannotOpen::Full { limit: self.max_sessions });
        }
        let http_session = open();
        state.sessions.insert(id, http_session.clone());
        Ok(http_session)
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<HttpSession>> {
        self.lock().sessions.get(id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<HttpSession>> {
        self.lock().sessions.values().cloned().collect()
    }

    /// Takes the session out of the table; the caller ends it.
    pub(super) fn remove(&self, id: &str) -> Option<Arc<HttpSession>> {
        self.lock().sessions.remove(id)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().sessions.len()
    }

    /// Opens no more sessions, and takes all out of the table.
    pub(super) fn close(&self) -> Vec<Arc<HttpSession>> {
        let mut state = self.lock();
        state.closed = true;
        state.sessions.drain().map(|(_, http_session)| http_session).collect()
    }

    fn take_idle(&self, idle: Duration) -> Vec<Arc<HttpSession>> {
        let sessions = &mut self.lock().sessions;
        let is_idle = |http_session: &HttpSession| http_session.idle().is_some_and(|time| time >= idle);
        let ids: Vec<String> =
            sessions.iter().filter(|(_, http_session)| is_idle(http_session)).map(|(id, _)| id.clone()).collect();
        ids.iter().filter_map(|id| sessions.remove(id)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // If `open` panics the table is unchanged.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn sweep(sessions: Weak<SessionTable>, idle: Duration) {
    let pause = (idle / 4).clamp(Duration::from_millis(50), MAX_SWEEP_INTERVAL);
    loop {
        tokio::time::sleep(pause).await;
        let Some(sessions) = sessions.upgrade() else { return };
        for http_session in sessions.take_idle(idle) {
            tracing::info!(idle_timeout = %idle.as_secs_f64(), "MCP session ended: idle");
            http_session.end().await;
        }
    }
}
