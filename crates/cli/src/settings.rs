//! From flags and variables to what a cell is started with. The variables that people know from OpenWorkers work too,
//! below Hearth's own, and each that counts is named in the log.

use std::env;
use std::str::FromStr;
use std::time::Duration;

use hearth_cell::{AppRules, Budget, CellConfig, Life};

use crate::arguments::PoolOptions;

/// Requests that may run or wait in oneshot mode, for each thread.
const QUEUED_PER_THREAD: usize = 10;

impl PoolOptions {
    pub fn threads(&self) -> usize {
        self.threads
            .map(usize::from)
            .or_else(|| borrowed("WORKER_POOL_SIZE", "--threads"))
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
            .max(1)
    }

    pub fn cell(&self) -> CellConfig {
        let threads = self.threads();
        let isolates = self.isolates.map(usize::from).or_else(|| borrowed("ISOLATE_POOL_SIZE", "--isolates"));
        let max_queued = self.max_queued.or_else(|| borrowed("MAX_QUEUED_WORKERS", "--max-queued"));
        CellConfig {
            threads,
            isolates: isolates.unwrap_or(1000).max(1),
            spares: usize::from(self.spares),
            budget: Budget::for_machine(threads, self.memory_budget),
            max_queued: max_queued.unwrap_or(threads * QUEUED_PER_THREAD).max(1),
        }
    }

    pub fn rules(&self) -> AppRules {
        let some = |time: Option<Duration>| time.filter(|time| !time.is_zero());
        let uses = self.max_requests.or_else(|| borrowed("CONTEXT_MAX_REUSES", "--max-requests"));
        AppRules {
            execution: self.execution,
            workers: self.workers.map_or_else(|| self.threads(), usize::from),
            queue: self.queue,
            queue_timeout: self.queue_timeout,
            weight: 1,
            life: Life { uses: uses.filter(|uses| *uses > 0), ttl: some(self.ttl), idle: some(self.idle_timeout) },
        }
    }
}

/// A variable of somebody else's that means the same as `flag`.
fn borrowed<T: FromStr>(name: &str, flag: &str) -> Option<T> {
    let text = env::var(name).ok()?;
    match text.trim().parse() {
        Ok(value) => {
            tracing::info!("{name}={} is used for {flag}", text.trim());
            Some(value)
        }
        Err(_) => {
            tracing::warn!("{name}={text:?} is not a number: ignored; {flag} says the same");
            None
        }
    }
}
