//! `onIdle` and `onTerminate`: what an app does when a worker has had no request for a while, and before
//! the worker is destroyed. A hook is an event with a request id of its own, under the limits of a
//! request. It may take [`HOOK_TIMEOUT`]; then its pending work is cancelled. Its outcome is logged and
//! changes nothing.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hearth_core::{Failure, RequestId};
use tokio::sync::oneshot;

use super::Worker;
use super::event::{Event, EventResult};
use super::inner::{LiveState, WorkerFailure};
use crate::console::Level;
use crate::isolate::LockedIsolate;
use crate::request_table::Reply;

const HOOK_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    Idle,
    Terminate,
}

impl Hook {
    /// Its bit in what `setHandlers` of `main.js` returns.
    pub(super) fn bit(self) -> u32 {
        match self {
            Self::Idle => 1 << 8,
            Self::Terminate => 1 << 9,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Idle => "onIdle",
            Self::Terminate => "onTerminate",
        }
    }
}

impl Worker {
    /// Whether the app has the hook and the worker can run it.
    pub fn has_hook(&self, hook: Hook) -> bool {
        let status = &self.shared.status;
        status.hooks.load(Ordering::Relaxed) & hook.bit() != 0 && !status.gone.load(Ordering::Relaxed)
    }

    /// The worker has had no request for a while. Ready when the app's hook, if it has one, is done or has
    /// timed out.
    pub async fn on_idle(&self) {
        self.hook(Hook::Idle).await;
    }

    /// The worker will be destroyed. Ready when the app's hook, if it has one, and what it gave to
    /// `waitUntil` are done or have timed out.
    pub async fn on_terminate(&self) {
        let began = Instant::now();
        if self.has_hook(Hook::Terminate) {
            self.hook(Hook::Terminate).await;
            let left = HOOK_TIMEOUT.saturating_sub(began.elapsed());
            // The worker is destroyed in either case.
            let _ = tokio::time::timeout(left, self.wait_until_idle()).await;
        }
    }

    async fn hook(&self, hook: Hook) {
        if !self.has_hook(hook) {
            return;
        }
        let id = RequestId::next();
        let limit = self.shared.app.limits.wall;
        let deadline = (!limit.is_zero()).then(|| Instant::now() + limit);
        let (reply, done) = oneshot::channel();
        self.shared.post(Event::Hook { id, hook, deadline, reply });
        // The outcome is in the log; a worker that is gone sends none.
        if tokio::time::timeout(HOOK_TIMEOUT, done).await.is_err() {
            let (cancelled, done) = oneshot::channel();
            self.shared.post(Event::HookTimedOut { id, hook, cancelled });
            // A worker that is busy with something else is not waited for without end.
            let _ = tokio::time::timeout(HOOK_TIMEOUT, done).await;
        }
    }
}

impl LiveState {
    pub(super) fn hook(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        id: RequestId,
        hook: Hook,
        deadline: Option<Instant>,
        reply: oneshot::Sender<Result<EventResult, Failure>>,
    ) -> Result<(), Box<WorkerFailure>> {
        self.state.requests.borrow_mut().begin(id, Reply::Event(reply), deadline);
        self.turn(isolate, id, |scope, state| {
            let dispatch = v8::Local::new(scope, &state.entry_points().dispatch_hook);
            let undefined = v8::undefined(scope).into();
            let id = v8::Number::new(scope, id.raw() as f64).into();
            let bit = v8::Integer::new_from_unsigned(scope, hook.bit()).into();
            dispatch.call(scope, undefined, &[id, bit]);
        })?;
        self.after_turn(isolate, id)
    }

    /// The hook has timed out.
    pub(super) fn cancel_hook(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        id: RequestId,
        hook: Hook,
        cancelled: oneshot::Sender<()>,
    ) -> Result<(), Box<WorkerFailure>> {
        if !self.state.requests.borrow().contains(id) {
            return Ok(());
        }
        let message = format!("{} was not done after {} s, and was cut off", hook.name(), HOOK_TIMEOUT.as_secs());
        self.state.log(id, Level::Warn, &message);
        self.end(isolate, id, None)?;
        // The receiver may be gone.
        let _ = cancelled.send(());
        Ok(())
    }
}
