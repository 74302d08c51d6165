//! What a worker has to do besides requests, until it is dropped: code that is going to be kept, a heap that is going to be
//! destroyed. Who keeps the worker until it is at rest, or counts it as there until then, waits for that too.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Vitals;

pub(super) struct Chore(Arc<Vitals>);

impl Chore {
    pub(super) fn begin(vitals: &Arc<Vitals>) -> Self {
        vitals.chores.fetch_add(1, Ordering::SeqCst);
        Self(vitals.clone())
    }
}

impl Drop for Chore {
    fn drop(&mut self) {
        let others = self.0.chores.fetch_sub(1, Ordering::SeqCst) - 1;
        if others == 0 && self.0.awaited.load(Ordering::SeqCst) {
            self.0.at_rest.notify_waiters();
        }
    }
}
