//! Workers that serve one event each, for whoever lists workers. The list does not keep them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_runtime::{WeakWorker, Worker, WorkerId};

/// Clones are the same list.
#[derive(Clone, Default)]
pub(crate) struct Roster(Arc<Mutex<HashMap<WorkerId, WeakWorker>>>);

/// A worker's place in the list, until dropped.
pub(crate) struct Listed {
    roster: Roster,
    id: WorkerId,
}

impl Roster {
    pub(crate) fn list(&self, worker: &Worker) -> Listed {
        let id = worker.id();
        self.lock().insert(id, worker.downgrade());
        Listed { roster: self.clone(), id }
    }

    pub(crate) fn workers(&self) -> Vec<Worker> {
        // Handles are taken under the lock and dropped by the caller: the last of one may have an isolate to destroy.
        self.lock().values().filter_map(WeakWorker::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WorkerId, WeakWorker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.roster.lock().remove(&self.id);
    }
}
