//! A list of the workers that serve one event each, for the operator. The list does not keep them alive.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_runtime::{WeakWorker, Worker, WorkerId};

/// Clones are the same list.
#[derive(Clone, Default)]
pub(crate) struct EphemeralWorkers(Arc<Mutex<HashMap<WorkerId, WeakWorker>>>);

/// A worker's entry in the list, until dropped.
pub(crate) struct Registration {
    workers: EphemeralWorkers,
    id: WorkerId,
}

impl EphemeralWorkers {
    pub(crate) fn register(&self, worker: &Worker) -> Registration {
        let id = worker.id();
        self.lock().insert(id, worker.downgrade());
        Registration { workers: self.clone(), id }
    }

    pub(crate) fn workers(&self) -> Vec<Worker> {
        // Handles are taken under the lock and dropped by the caller: dropping the last one may destroy an isolate.
        self.lock().values().filter_map(WeakWorker::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WorkerId, WeakWorker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.workers.lock().remove(&self.id);
    }
}
