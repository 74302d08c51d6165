//! The hooks of workers in the pool: `onIdle` when nobody has used one for a while, `onTerminate` on its way out. A worker
//! whose end is under way has left the pool and is not yet destroyed; such are counted, so that a cell can wait for the last.

use hearth_pool::DestroyReason;
use hearth_runtime::{Hook, Worker};
use tokio::runtime::Handle;
use tokio::sync::watch;

#[derive(Clone)]
pub(crate) struct Endings {
    under_way: watch::Sender<usize>,
    /// Where the hooks run: what ends a worker may be on no runtime at all.
    runtime: Handle,
}

impl Endings {
    /// Must be called on the runtime that is to run the hooks.
    pub(crate) fn new() -> Self {
        Self { under_way: watch::Sender::new(0), runtime: Handle::current() }
    }

    /// Lets the worker's hook run, if it has one and an orderly end, and then calls `bury`.
    pub(crate) fn end<T>(&self, thing: T, why: DestroyReason, bury: impl FnOnce(T) + Send + 'static)
    where
        T: AsRef<Worker> + Send + Sync + 'static,
    {
        if why == DestroyReason::Gone || !thing.as_ref().has_hook(Hook::Terminate) {
            bury(thing);
            return;
        }
        let counted = Counted::new(&self.under_way);
        self.runtime.spawn(async move {
            thing.as_ref().on_terminate().await;
            bury(thing);
            drop(counted);
        });
    }

    /// Nobody has used the worker for a while: its hook runs, if it has one.
    pub(crate) fn idle<T>(&self, thing: &T)
    where
        T: AsRef<Worker> + Clone + Send + Sync + 'static,
    {
        if thing.as_ref().has_hook(Hook::Idle) {
            let thing = thing.clone();
            self.runtime.spawn(async move { thing.as_ref().on_idle().await });
        }
    }

    /// Ready when all hooks of workers that end have run.
    pub(crate) async fn over(&self) {
        let mut under_way = self.under_way.subscribe();
        // The sender is here, so this cannot end otherwise.
        let _ = under_way.wait_for(|count| *count == 0).await;
    }
}

/// One more ending under way, until dropped, however its task ends.
struct Counted(watch::Sender<usize>);

impl Counted {
    fn new(under_way: &watch::Sender<usize>) -> Self {
        under_way.send_modify(|count| *count += 1);
        Self(under_way.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
