//! Stores the code that was compiled for a worker's first request, with the functions that the request
//! compiled lazily, in the code cache for other workers. That takes V8 longer than a warm request, so a
//! task does it a moment after the reply, when no other thread has the worker. The worker does not count
//! as busy meanwhile: a request that comes now waits for a short time, which is better than another
//! worker. It is not idle until the code is stored.
//!
//! A worker that exists for that alone stores what is compiled ahead of any request.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::background::BackgroundGuard;
use super::inner::{LiveState, WorkerInner};
use super::{WorkerRef, WorkerShared};

/// After the end of the first request, and between two attempts.
const RETRY_DELAY: Duration = Duration::from_millis(2);
/// A worker that is never free then, or whose app is slow, stores nothing.
const MAX_ATTEMPTS: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    Done,
    /// Another thread has the worker.
    Retry,
}

impl WorkerRef {
    pub(super) fn cache_code_later(&self) {
        let (shared, background) = (self.shared.clone(), BackgroundGuard::start(&self.status));
        self.runtime.spawn(async move {
            for _ in 0..MAX_ATTEMPTS {
                tokio::time::sleep(RETRY_DELAY).await;
                let Some(shared) = shared.upgrade() else { return };
                if shared.cache_code() == Attempt::Done {
                    break;
                }
            }
            drop(background);
        });
    }
}

impl WorkerShared {
    fn cache_code(self: &Arc<Self>) -> Attempt {
        if self.status.gone.load(Ordering::Relaxed) {
            return Attempt::Done;
        }
        if !self.can_do_housekeeping_here() {
            return Attempt::Retry;
        }
        let Ok(mut inner) = self.inner.try_lock() else { return Attempt::Retry };
        if catch_unwind(AssertUnwindSafe(|| inner.run_housekeeping(self, LiveState::cache_code))).is_err() {
            inner.condemn_after_panic(self);
        }
        drop(inner);
        self.check_inbox();
        Attempt::Done
    }

    /// Compiles the app's entry and its imports, runs nothing, and stores the code. For a worker that no
    /// other thread has.
    pub(super) fn compile(self: &Arc<Self>) {
        let Ok(mut inner) = self.inner.try_lock() else { return };
        let compile = |inner: &mut WorkerInner| {
            inner.run_housekeeping(self, |live, isolate| {
                live.compile(isolate)?;
                live.cache_code(isolate)
            });
        };
        if catch_unwind(AssertUnwindSafe(|| compile(&mut inner))).is_err() {
            inner.condemn_after_panic(self);
        }
    }
}
