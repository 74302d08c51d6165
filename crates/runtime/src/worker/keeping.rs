//! What was compiled for a worker's first request is kept for other workers: functions that the request compiled lazily are in
//! it too. That takes V8 longer than a warm request, so it is done a moment after the answer, by a task that takes the worker
//! when nobody has it. The worker does not count as busy meanwhile: a request that comes now waits for so short a time,
//! which is better than another worker. Who keeps the worker until it is at rest keeps it until this is done.
//!
//! What is compiled ahead of any request is kept, too, by a worker that is made for that alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::chore::Chore;
use super::core::{Core, Live};
use super::{Link, Shared};

/// From the end of the first request on, and between two tries.
const PAUSE: Duration = Duration::from_millis(2);
/// A worker that is never free then, or whose app is slow, keeps nothing.
const TRIES: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Try {
    Done,
    /// Somebody has the worker.
    Again,
}

impl Link {
    pub(super) fn keep_code_later(&self) {
        let (shared, keeping) = (self.shared.clone(), Chore::begin(&self.vitals));
        self.runtime.spawn(async move {
            for _ in 0..TRIES {
                tokio::time::sleep(PAUSE).await;
                let Some(shared) = shared.upgrade() else { return };
                if shared.keep_code() == Try::Done {
                    break;
                }
            }
            drop(keeping);
        });
    }
}

impl Shared {
    fn keep_code(self: &Arc<Self>) -> Try {
        if self.vitals.gone.load(Ordering::Relaxed) {
            return Try::Done;
        }
        if !self.may_step_in() {
            return Try::Again;
        }
        let Ok(mut core) = self.core.try_lock() else { return Try::Again };
        if catch_unwind(AssertUnwindSafe(|| core.step_in(self, Live::keep_code))).is_err() {
            core.condemn_after_panic(self);
        }
        drop(core);
        // What came meanwhile found the worker taken.
        if !self.is_idle() {
            self.look();
        }
        Try::Done
    }

    /// Compiles what the app begins with, runs nothing, and keeps the code. For a worker that nobody else has.
    pub(super) fn compile(self: &Arc<Self>) {
        let Ok(mut core) = self.core.try_lock() else { return };
        let compile = |core: &mut Core| {
            core.step_in(self, |live, isolate| {
                live.compile(isolate)?;
                live.keep_code(isolate)
            });
        };
        if catch_unwind(AssertUnwindSafe(|| compile(&mut core))).is_err() {
            core.condemn_after_panic(self);
        }
    }
}
