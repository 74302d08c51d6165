//! From flags and variables to what apps and cells are started with. The variables that people know from OpenWorkers work
//! too, below Hearth's own, and each that counts is named in the log.

use std::env;
use std::str::FromStr;
use std::time::Duration;

use hearth_cell::{Budget, CellConfig, Execution, Terms};
use hearth_config::{Bound, Lifetime, Manifest, OperatorConfig};
use hearth_core::ByteSize;

use crate::serve_options::{AppDefaults, PoolDefaults};

/// Requests that may run or wait in oneshot mode, for each thread.
const QUEUED_PER_THREAD: usize = 10;

/// How workers are kept warm, with nothing left open.
#[derive(Clone, Copy, Debug)]
pub struct PoolSettings {
    pub isolates: usize,
    pub spares: usize,
    pub memory_budget: Option<ByteSize>,
    pub max_queued: usize,
    pub terms: Terms,
}

impl PoolSettings {
    /// Flags over the configuration over defaults.
    pub fn new(flags: &PoolDefaults, operator: &OperatorConfig) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = flags.threads.or(operator.threads).map(usize::from);
        let threads = threads.or_else(|| borrowed("WORKER_POOL_SIZE", "--threads")).unwrap_or_else(cores).max(1);
        let isolates = flags.isolates.or(operator.isolates).map(usize::from);
        let isolates = isolates.or_else(|| borrowed("ISOLATE_POOL_SIZE", "--isolates")).unwrap_or(1000).max(1);
        let max_queued = flags.max_queued.or(operator.max_queued).map(|count| count as usize);
        let max_queued = max_queued.or_else(|| borrowed("MAX_QUEUED_WORKERS", "--max-queued"));
        Self {
            isolates,
            spares: usize::from(flags.spares.or(operator.spares).unwrap_or(2)),
            memory_budget: flags.memory_budget.or(operator.memory_budget).filter(|size| *size > ByteSize(0)),
            max_queued: max_queued.unwrap_or(threads * QUEUED_PER_THREAD).max(1),
            terms: Terms {
                threads,
                queue: flags.queue.or(operator.queue).unwrap_or(100) as usize,
                queue_timeout: flags.queue_timeout.or(operator.queue_timeout).unwrap_or(Duration::from_secs(5)),
            },
        }
    }

    pub fn cell(&self) -> CellConfig {
        CellConfig {
            threads: self.terms.threads,
            isolates: self.isolates,
            spares: self.spares,
            budget: Budget::for_machine(self.terms.threads, 1, self.memory_budget),
            max_queued: self.max_queued,
        }
    }
}

/// Puts what was said on the command line about apps over what `layer` says.
pub fn override_with(layer: &mut Manifest, flags: &AppDefaults) {
    fn set<T>(to: &mut Option<T>, flag: Option<T>) {
        if flag.is_some() {
            *to = flag;
        }
    }
    let execution = flags.execution.map(|execution| match execution {
        Execution::Auto => hearth_config::Execution::Auto,
        Execution::Pooled => hearth_config::Execution::Pooled,
        Execution::Pinned => hearth_config::Execution::Pinned,
        Execution::Oneshot => hearth_config::Execution::Oneshot,
        Execution::Shared => hearth_config::Execution::Shared,
    });
    let lifetime = |ttl: Duration| if ttl.is_zero() { Lifetime::Ephemeral } else { Lifetime::Limited(ttl) };
    let uses = flags.max_requests.or_else(|| borrowed("CONTEXT_MAX_REUSES", "--max-requests"));
    let memory = flags.memory.or_else(|| borrowed("ISOLATE_HEAP_MAX_MB", "--memory").map(ByteSize::mb));
    set(&mut layer.execution, execution);
    set(&mut layer.max_workers, flags.workers.map(Bound::Limited));
    set(&mut layer.max_requests, uses.filter(|uses| *uses > 0).map(Bound::Limited));
    set(&mut layer.lifetime, flags.ttl.map(lifetime));
    set(&mut layer.idle_timeout, flags.idle_timeout);
    set(&mut layer.cpu, flags.cpu);
    set(&mut layer.timeout, flags.wall);
    set(&mut layer.memory, memory);
    set(&mut layer.stream_timeout, flags.stream_timeout);
    set(&mut layer.concurrency, flags.concurrency);
    set(&mut layer.max_body_size, flags.max_body);
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
