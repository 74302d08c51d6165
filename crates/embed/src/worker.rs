//! A script in an isolate of its own.

use std::sync::Arc;

use hearth_core::{ByteSize, Limits};
use hearth_runtime::{DefaultOperations, Operations, ThreadPolicy};

use crate::context::{check_health, drain, exec};
use crate::engine::Engine;
use crate::error::Error;
use crate::event::{Event, Outcome};
use crate::script::{Names, Script, app};

/// A script in an isolate of its own. The isolate is destroyed with it.
///
/// ```
/// use std::sync::Arc;
/// use hearth_embed::{DefaultOperations, Event, Limits, Worker};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), hearth_embed::Error> {
/// let script = "export default { fetch: (request) => new Response(new URL(request.url).pathname) }";
/// let mut worker = Worker::new_with_ops(script, Limits::default(), Arc::new(DefaultOperations)).await?;
/// assert_eq!(worker.exec(Event::get("http://app/path")).await?.text().await?, "/path");
/// # Ok(())
/// # }
/// ```
pub struct Worker {
    engine: &'static Engine,
    worker: hearth_runtime::Worker,
}

impl Worker {
    /// With Hearth's own operations.
    pub async fn new(script: impl Into<Script>, limits: Limits) -> Result<Self, Error> {
        Self::new_with_ops(script, limits, Arc::new(DefaultOperations)).await
    }

    /// Evaluates `script` in a new isolate.
    pub async fn new_with_ops(
        script: impl Into<Script>,
        limits: Limits,
        operations: Arc<dyn Operations>,
    ) -> Result<Self, Error> {
        let engine = Engine::get()?;
        let names = Names { owner: "worker", worker: "worker", version: "1" };
        let app = app(&names, &script.into(), &limits, operations);
        let started = engine.run(async move {
            let (blank, place) = (engine.blank(limits.heap), ThreadPolicy::ByLatency(engine.turn_pools()));
            hearth_runtime::Worker::start_from(blank, app, place).await
        });
        Ok(Self { engine, worker: started.await?? })
    }

    /// Handles an event. Returns when the handler has replied: a streamed body, and what
    /// `waitUntil` keeps running, go on.
    pub async fn exec(&mut self, event: impl Into<Event>) -> Result<Outcome, Error> {
        exec(self.engine, &self.worker, event.into()).await
    }

    /// Waits until nothing is left to do: bodies are read, and `waitUntil` has ended.
    pub async fn drain_waituntil(&mut self) -> Result<(), Error> {
        drain(self.engine, &self.worker).await?;
        check_health(&self.worker)
    }

    /// Memory that its isolate holds, as of the last update.
    pub fn memory(&self) -> ByteSize {
        self.worker.memory()
    }
}
