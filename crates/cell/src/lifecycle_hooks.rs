//! The hooks of pooled workers: `onIdle` when a worker is unused for a while, `onTerminate` before it is destroyed. A worker
//! whose `onTerminate` runs has left the pool and is not destroyed yet; such workers are counted, so that a cell can wait for the
//! last.

use hearth_pool::DestroyReason;
use hearth_runtime::{Hook, Worker};
use tokio::runtime::Handle;
use tokio::sync::watch;

#[derive(Clone)]
pub(crate) struct LifecycleHooks {
    terminating: watch::Sender<usize>,
    /// Where the hooks run: a worker may be destroyed on a thread without a runtime.
    runtime: Handle,
}

impl LifecycleHooks {
    /// Must be called on the runtime that is to run the hooks.
    pub(crate) fn new() -> Self {
        Self { terminating: watch::Sender::new(0), runtime: Handle::current() }
    }

    /// Runs the worker's `onTerminate`, if it has one and the worker is not gone, and then calls `dispose`.
    pub(crate) fn terminate<T>(&self, worker: T, why: DestroyReason, dispose: impl FnOnce(T) + Send + 'static)
    where
        T: AsRef<Worker> + Send + Sync + 'static,
    {
        if why == DestroyReason::Gone || !worker.as_ref().has_hook(Hook::Terminate) {
            dispose(worker);
            return;
        }
        let guard = TerminatingGuard::new(&self.terminating);
        self.runtime.spawn(async move {
            worker.as_ref().on_terminate().await;
            dispose(worker);
            drop(guard);
        });
    }

    /// Runs the worker's `onIdle`, if it has one.
    pub(crate) fn on_idle<T>(&self, worker: &T)
    where
        T: AsRef<Worker> + Clone + Send + Sync + 'static,
    {
        if worker.as_ref().has_hook(Hook::Idle) {
            let worker = worker.clone();
            self.runtime.spawn(async move { worker.as_ref().on_idle().await });
        }
    }

    /// Resolves when all `onTerminate` hooks have run.
    pub(crate) async fn wait_until_done(&self) {
        let mut terminating = self.terminating.subscribe();
        // The sender lives as long as `self`, so there is no other result.
        let _ = terminating.wait_for(|count| *count == 0).await;
    }
}

/// Counts one more running `onTerminate`, until dropped, however its task ends.
struct TerminatingGuard(watch::Sender<usize>);

impl TerminatingGuard {
    fn new(terminating: &watch::Sender<usize>) -> Self {
        terminating.send_modify(|count| *count += 1);
        Self(terminating.clone())
    }
}

impl Drop for TerminatingGuard {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
