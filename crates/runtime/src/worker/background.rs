//! Work of a worker besides requests: code that will be cached, a heap that will be destroyed. A worker
//! is not idle, and its pool counts it as alive, until the guard is dropped.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::shared::WorkerStatus;

pub(crate) struct BackgroundGuard(Arc<WorkerStatus>);

impl BackgroundGuard {
    pub(super) fn start(status: &Arc<WorkerStatus>) -> Self {
        status.background_tasks.fetch_add(1, Ordering::SeqCst);
        Self(status.clone())
    }
}

impl Drop for BackgroundGuard {
    fn drop(&mut self) {
        let others = self.0.background_tasks.fetch_sub(1, Ordering::SeqCst) - 1;
        if others == 0 && self.0.has_idle_waiters.load(Ordering::SeqCst) {
            self.0.became_idle.notify_waiters();
        }
    }
}
