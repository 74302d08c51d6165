//! All threads that run JavaScript:
//!
//! - the workers of a work-stealing tokio runtime, as many as the operator wants to be busy at once;
//! - standby workers: more workers of the same runtime, parked until a long turn blocks another one
//!   (`standby.rs`);
//! - the probation pool and the low-priority pool (`pool.rs`).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hearth_sys::sched::{ChildSlice, set_short_slice};
use hearth_sys::sched_tick::{SchedulerTicker, Trigger};
use tokio::runtime::{Builder, Handle, Runtime};

use super::handoff::ThreadBackup;
use super::pool::{MAX_LOW_PRIORITY_THREADS, TurnPools};
use super::standby::{STANDBY_WORKERS, StandbyWorkers};
use crate::platform::THREAD_STACK;

/// Dropping it ends the threads, as soon as what they run lets them.
pub struct JsThreads {
    main: Option<Runtime>,
    /// The threads of the pools.
    pool_runtimes: Option<[Runtime; 2]>,
    pools: TurnPools,
    standby: Arc<StandbyWorkers>,
}

impl JsThreads {
    /// Starts `count` workers, their standby workers and the pools.
    pub fn start(count: usize) -> io::Result<Self> {
        let ticker = Arc::new(SchedulerTicker::start(Trigger::AllCoresBusy { max_cores: MAX_LOW_PRIORITY_THREADS }));
        let standby = Arc::new(StandbyWorkers::default());
        let backup = ThreadBackup { standby: Some(standby.clone()), ticker: Arc::downgrade(&ticker) };
        let (pools, pool_runtimes) = TurnPools::start(ticker)?;
        // The last step that can fail: dropping a runtime whose workers are parked would wait for them.
        let main = Builder::new_multi_thread()
            .worker_threads(count.max(1) + STANDBY_WORKERS)
            .thread_stack_size(THREAD_STACK)
            .thread_name("hearth-worker")
            .on_thread_start(move || {
                backup.install_here();
                set_short_slice(ChildSlice::Inherit);
            })
            .enable_all()
            .build()?;
        standby.park_initial(&main);
        Ok(Self { main: Some(main), pool_runtimes: Some(pool_runtimes), pools, standby })
    }

    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.main().block_on(future)
    }

    pub fn handle(&self) -> Handle {
        self.main().handle().clone()
    }

    pub fn turn_pools(&self) -> TurnPools {
        self.pools.clone()
    }

    fn main(&self) -> &Runtime {
        self.main.as_ref().expect("the runtime is taken by shutdown and drop only")
    }

    /// Ends the threads; what still runs after `timeout` is abandoned.
    pub fn shutdown(mut self, timeout: Duration) {
        self.standby.shutdown();
        if let Some(main) = self.main.take() {
            main.shutdown_timeout(timeout);
        }
    }
}

impl Drop for JsThreads {
    fn drop(&mut self) {
        self.standby.shutdown();
        for runtime in self.pool_runtimes.take().into_iter().flatten() {
            // A stuck turn must not block the thread that drops this.
            runtime.shutdown_background();
        }
    }
}
