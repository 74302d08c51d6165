//! An isolate for several contexts, one after another, and such a context.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hearth_core::{ByteSize, Failure, Limits};
use hearth_runtime::{Health, LockedIsolate, Operations};

use crate::engine::Engine;
use crate::error::Error;
use crate::event::{Event, Outcome};
use crate::script::{Names, Script, app};

/// An isolate for several contexts, one at a time. Clones are the same isolate. Threads enter it
/// under V8's own lock.
#[derive(Clone)]
pub struct SharedIsolate {
    engine: &'static Engine,
    isolate: hearth_runtime::SharedIsolate,
    /// A limit was exceeded in it: it is not used again.
    is_spent: Arc<AtomicBool>,
}

/// A script in a new context of an isolate. Dropped, the context goes, and the isolate is there for the next.
///
/// ```
/// use std::sync::Arc;
/// use hearth_embed::{DefaultOperations, Event, ExecutionContext, Limits, SharedIsolate};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), hearth_embed::Error> {
/// let mut isolate = SharedIsolate::new(Limits::default())?;
/// let script = "let n = 0; export default { task: () => ++n }";
/// for _ in 0..2 {
///     let mut context = ExecutionContext::new(&mut isolate, script, Arc::new(DefaultOperations)).await?;
///     let result = context.exec(Event::task("count", None)).await?.event().unwrap_or_default();
///     assert_eq!(result.data.as_deref(), Some("1"), "each context begins anew");
///     context.drain_waituntil().await?;
/// }
/// # Ok(())
/// # }
/// ```
pub struct ExecutionContext<'a> {
    engine: &'static Engine,
    worker: hearth_runtime::Worker,
    is_spent: Arc<AtomicBool>,
    _isolate: PhantomData<&'a mut SharedIsolate>,
}

// === impl SharedIsolate ===

impl SharedIsolate {
    /// A new isolate, with the memory limit of `limits`.
    pub fn new(limits: Limits) -> Result<Self, Error> {
        Ok(Self::in_engine(Engine::get()?, limits.heap))
    }

    pub(crate) fn in_engine(engine: &'static Engine, heap: ByteSize) -> Self {
        let isolate = hearth_runtime::SharedIsolate::new(engine.isolate(heap));
        Self { engine, isolate, is_spent: Arc::default() }
    }

    /// Runs `f` with the isolate locked (V8's `Locker`) and entered, on this thread. Waits while a
    /// context of it runs.
    pub fn with_lock<R>(&self, f: impl FnOnce(&mut LockedIsolate<'_>) -> R) -> R {
        self.isolate.with_lock(f)
    }

    /// Memory that it holds, as of the last update.
    pub fn memory(&self) -> ByteSize {
        self.isolate.memory()
    }

    /// Whether a limit was exceeded in it: nothing more can run in it.
    pub fn is_spent(&self) -> bool {
        self.is_spent.load(Ordering::Relaxed)
    }
}

// === impl ExecutionContext ===

impl<'a> ExecutionContext<'a> {
    /// Evaluates `script` in a new context, under the default limits.
    pub async fn new(
        isolate: &'a mut SharedIsolate,
        script: impl Into<Script>,
        operations: Arc<dyn Operations>,
    ) -> Result<Self, Error> {
        Self::new_with_limits(isolate, script, operations, Limits::default()).await
    }

    /// The same under other time limits. The memory limit is the isolate's.
    pub async fn new_with_limits(
        isolate: &'a mut SharedIsolate,
        script: impl Into<Script>,
        operations: Arc<dyn Operations>,
        limits: Limits,
    ) -> Result<Self, Error> {
        let (engine, is_spent) = (isolate.engine, isolate.is_spent.clone());
        let names = Names { owner: "context", worker: "context", version: "1" };
        let app = app(&names, &script.into(), &limits, operations);
        let isolate = isolate.isolate.clone();
        let started = engine.run(async move { hearth_runtime::Worker::start_in(isolate, app).await }).await?;
        match started {
            Ok(worker) => Ok(Self { engine, worker, is_spent, _isolate: PhantomData }),
            Err(failure) => {
                note(&is_spent, &failure);
                Err(failure.into())
            }
        }
    }

    /// Handles an event. Returns when the handler has replied: a streamed body, and what
    /// `waitUntil` keeps running, go on.
    pub async fn exec(&mut self, event: impl Into<Event>) -> Result<Outcome, Error> {
        let outcome = exec(self.engine, &self.worker, event.into()).await;
        if let Err(Error::Failed(failure)) = &outcome {
            note(&self.is_spent, failure);
        }
        outcome
    }

    /// Waits until nothing is left to do: bodies are read, and `waitUntil` has ended, under limits
    /// of its own. After an error the context is not used again.
    pub async fn drain_waituntil(&mut self) -> Result<(), Error> {
        drain(self.engine, &self.worker).await?;
        if self.worker.health() == Health::Gone {
            self.is_spent.store(true, Ordering::Relaxed);
        }
        check_health(&self.worker)
    }
}

impl Drop for ExecutionContext<'_> {
    fn drop(&mut self) {
        if self.worker.health() == Health::Gone {
            self.is_spent.store(true, Ordering::Relaxed);
        }
    }
}

/// An isolate in which a limit was exceeded was terminated and cannot be used again.
fn note(is_spent: &AtomicBool, failure: &Failure) {
    if matches!(failure, Failure::Limit(_) | Failure::Collateral(_) | Failure::Internal { .. }) {
        is_spent.store(true, Ordering::Relaxed);
    }
}

pub(crate) async fn exec(engine: &Engine, worker: &hearth_runtime::Worker, event: Event) -> Result<Outcome, Error> {
    let worker = worker.clone();
    let outcome = engine.run(async move { event.give_to(&worker).await });
    Ok(outcome.await??)
}

pub(crate) async fn drain(engine: &Engine, worker: &hearth_runtime::Worker) -> Result<(), Error> {
    let worker = worker.clone();
    engine.run(async move { worker.wait_until_idle().await }).await
}

pub(crate) fn check_health(worker: &hearth_runtime::Worker) -> Result<(), Error> {
    match worker.health() {
        Health::Ready | Health::Worn => Ok(()),
        Health::Retiring | Health::Gone => Err(Error::WaitUntil),
    }
}
