//! What happened, for who watches: deploys, cells that were lost, apps that are stuck. The last ones are kept, so that
//! somebody who comes later sees how it came to this.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use hearth_ipc::CellEvent;
use serde::Serialize;
use tokio::sync::broadcast;

use hearth_supervisor::{CordonReason, CrashCause, Culprit, ReplaceReason};

/// Events that are kept.
const KEPT: usize = 200;

#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// Milliseconds since 1970.
    pub time: u64,
    #[serde(flatten)]
    pub what: What,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum What {
    /// Other versions than before are served.
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
        /// Who did it, where that is known.
        #[serde(flatten)]
        culprit: Option<Culprit>,
    },
    /// Another takes its place, and requests go on.
    CellReplaced {
        cell: u32,
        reason: ReplaceReason,
    },
    /// The owner has a cell of its own from now on.
    Cordoned {
        owner: String,
        why: CordonReason,
    },
    /// The owner is served by the same cells as everybody again.
    Released {
        owner: String,
    },
    /// The configuration was read again: which keys are others, and which of these count after a restart only.
    Reloaded {
        changed: Vec<String>,
        needs_restart: Vec<String>,
    },
    Draining,
}

/// Clones are the same.
#[derive(Clone)]
pub struct Events {
    shared: Arc<Shared>,
}

struct Shared {
    kept: Mutex<VecDeque<Arc<Event>>>,
    followers: broadcast::Sender<Arc<Event>>,
}

impl Default for Events {
    fn default() -> Self {
        let shared = Shared { kept: Mutex::default(), followers: broadcast::Sender::new(KEPT) };
        Self { shared: Arc::new(shared) }
    }
}

impl Events {
    pub fn tell(&self, what: What) {
        let event = Arc::new(Event { time: hearth_core::time::unix_millis(), what });
        let mut kept = self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(event.clone());
        // Under the lock, so that who begins to follow misses none and gets none twice. Nobody following is no error.
        let _ = self.shared.followers.send(event);
    }

    /// What is kept, and all from then on.
    pub fn follow(&self) -> (Vec<Arc<Event>>, broadcast::Receiver<Arc<Event>>) {
        let kept = self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.iter().cloned().collect(), self.shared.followers.subscribe())
    }
}
