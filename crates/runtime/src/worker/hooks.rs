//! `onIdle` and `onTerminate`: what an app does when nobody has used a worker for a while, and before it is destroyed. A hook
//! is an event with a request id of its own, under the limits of a request, and is waited for no longer than [`PATIENCE`];
//! then what it has under way is cancelled. Whatever comes of it is logged, and changes nothing.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hearth_core::{Failure, RequestId};
use tokio::sync::oneshot;

use super::Worker;
use super::core::{Death, Live};
use super::event::{Event, EventResult};
use crate::console::Level;
use crate::isolate::LockedIsolate;
use crate::requests::Reply;

/// For a hook.
const PATIENCE: Duration = Duration::from_secs(1);

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
    /// Whether the app has it, and the worker is there to run it.
    pub fn has_hook(&self, hook: Hook) -> bool {
        let vitals = &self.shared.vitals;
        vitals.hooks.load(Ordering::Relaxed) & hook.bit() != 0 && !vitals.gone.load(Ordering::Relaxed)
    }

    /// Nobody has used the worker for a while. Ready when the app's hook is done, if it has one, or has had its time.
    pub async fn on_idle(&self) {
        self.hook(Hook::Idle).await;
    }

    /// The worker will be destroyed. Ready when the app's hook is done, if it has one, and what it gave to `waitUntil` too, or
    /// when it has had its time.
    pub async fn on_terminate(&self) {
        let began = Instant::now();
        if self.has_hook(Hook::Terminate) {
            self.hook(Hook::Terminate).await;
            let left = PATIENCE.saturating_sub(began.elapsed());
            // Cut off or done: it goes either way.
            let _ = tokio::time::timeout(left, self.at_rest()).await;
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
        // What it came to is in the log; a worker that is gone has nothing to say.
        if tokio::time::timeout(PATIENCE, done).await.is_err() {
            let (cut, done) = oneshot::channel();
            self.shared.post(Event::HookLate { id, hook, cut });
            // A worker that is busy with something else does not keep us for ever.
            let _ = tokio::time::timeout(PATIENCE, done).await;
        }
    }
}

impl Live {
    pub(super) fn hook(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        id: RequestId,
        hook: Hook,
        deadline: Option<Instant>,
        reply: oneshot::Sender<Result<EventResult, Failure>>,
    ) -> Result<(), Box<Death>> {
        self.state.requests.borrow_mut().begin(id, Reply::Event(reply), deadline);
        self.turn(isolate, id, |scope, state| {
            let dispatch = v8::Local::new(scope, &state.entry().dispatch_hook);
            let undefined = v8::undefined(scope).into();
            let id = v8::Number::new(scope, id.raw() as f64).into();
            let bit = v8::Integer::new_from_unsigned(scope, hook.bit()).into();
            dispatch.call(scope, undefined, &[id, bit]);
        })?;
        self.after(isolate, id)
    }

    /// Nobody waits for the hook any more.
    pub(super) fn cut_hook(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        id: RequestId,
        hook: Hook,
        cut: oneshot::Sender<()>,
    ) -> Result<(), Box<Death>> {
        if !self.state.requests.borrow().contains(id) {
            return Ok(());
        }
        let message = format!("{} was not done after {} s, and was cut off", hook.name(), PATIENCE.as_secs());
        self.state.log(id, Level::Warn, &message);
        self.end(isolate, id, None)?;
        // Who waited for this may be gone.
        let _ = cut.send(());
        Ok(())
    }
}
