//! Events for operators: deploys, lost cells, stuck apps. The last ones are kept for followers that connect later.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use hearth_ipc::CellEvent;
use serde::Serialize;
use tokio::sync::broadcast;

use hearth_supervisor::{CordonReason, CrashCause, Culprit, ReplaceReason};

/// Events that are kept.
const MAX_EVENTS: usize = 200;

#[derive(Clone, Debug, Serialize)]
pub struct ServerEvent {
    /// Milliseconds since 1970.
    pub time: u64,
    #[serde(flatten)]
    pub kind: EventKind,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// The served versions have changed.
    CatalogueChanged {
        apps: usize,
        versions: usize,
        problems: usize,
    },
    Uploaded {
        app: String,
        version: String,
        revision: u64,
    },
    Activated {
        app: String,
        version: String,
    },
    RolledBack {
        app: String,
        version: String,
    },
    Deleted {
        app: String,
        version: Option<String>,
    },
    CronFailed {
        app: String,
        cron: String,
        message: String,
    },
    Installing {
        app: String,
        version: String,
    },
    InstallFailed {
        app: String,
        version: String,
        message: String,
    },
    Cell(CellEvent),
    CellLost {
        cell: u32,
        cause: CrashCause,
        status: String,
        last_words: Vec<String>,
        /// The app that caused it, if known.
        #[serde(flatten)]
        culprit: Option<Culprit>,
    },
    /// A cell is replaced while requests go on.
    CellReplaced {
        cell: u32,
        reason: ReplaceReason,
    },
    /// The owner got a cell of its own.
    Cordoned {
        owner: String,
        why: CordonReason,
    },
    /// The owner is served by the main cells again.
    Released {
        owner: String,
    },
    /// The configuration was reloaded: the keys that changed, and those that need a restart.
    Reloaded {
        changed: Vec<String>,
        needs_restart: Vec<String>,
    },
    Draining,
}

/// Clones share the events.
#[derive(Clone)]
pub struct Events {
    shared: Arc<Shared>,
}

struct Shared {
    kept: Mutex<VecDeque<Arc<ServerEvent>>>,
    followers: broadcast::Sender<Arc<ServerEvent>>,
}

impl Default for Events {
    fn default() -> Self {
        let shared = Shared { kept: Mutex::default(), followers: broadcast::Sender::new(MAX_EVENTS) };
        Self { shared: Arc::new(shared) }
    }
}

impl Events {
    pub fn record(&self, kind: EventKind) {
        let event = Arc::new(ServerEvent { time: hearth_core::time::unix_millis(), kind });
        let mut kept = self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == MAX_EVENTS {
            kept.pop_front();
        }
        kept.push_back(event.clone());
        // Sent under the lock, so that a new follower neither misses an event nor gets one twice. It fails without followers.
        let _ = self.shared.followers.send(event);
    }

    /// The events that are kept, and a receiver of all later ones.
    pub fn follow(&self) -> (Vec<Arc<ServerEvent>>, broadcast::Receiver<Arc<ServerEvent>>) {
        let kept = self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.iter().cloned().collect(), self.shared.followers.subscribe())
    }
}
