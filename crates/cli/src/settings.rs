//! Converts flags and variables to the settings of apps and cells. Variables of other programs (OpenWorkers' among them) work
//! too, below flags, Hearth's own variables and `hearth.yaml` (`borrowed.rs`).

use std::time::Duration;

use hearth_cell::{AppPoolsConfig, Budget, ServerLimits};
use hearth_config::{Bound, Lifetime, MAX_ISOLATES, Manifest, OperatorConfig};
use hearth_core::ByteSize;

use crate::borrowed::borrowed;
use crate::serve_options::{AppDefaults, PoolDefaults};

/// Limit of concurrent requests that have an isolate or context of their own.
const MAX_FRESH: u16 = 1000;
/// V8's cage.
const MAX_HEAP_MB: u64 = 4096;

/// The pool's configuration, with all defaults filled in.
#[derive(Clone, Copy, Debug)]
pub struct PoolSettings {
    pub isolates: usize,
    pub max_per_owner: Option<usize>,
    /// 0 is V8's own choice.
    pub initial_heap: ByteSize,
    pub spares: usize,
    pub memory_budget: Option<ByteSize>,
    pub max_queued: Option<usize>,
    pub terms: ServerLimits,
}

impl PoolSettings {
    /// Flags over the configuration over defaults.
    pub fn new(flags: &PoolDefaults, operator: &OperatorConfig) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads =
            flags.threads.or(operator.threads).or_else(|| borrowed("WORKER_POOL_SIZE", "--threads", 1..=1024));
        let isolates = flags.isolates.or(operator.isolates);
        let isolates = isolates.or_else(|| borrowed("ISOLATE_POOL_SIZE", "--isolates", 1..=MAX_ISOLATES));
        let max_queued = flags.max_queued.or(operator.max_queued);
        let max_queued = max_queued.or_else(|| borrowed("MAX_QUEUED_WORKERS", "--max-queued", 1..=u32::MAX));
        let initial_heap = flags.initial_heap.or(operator.initial_heap);
        let initial_heap = initial_heap
            .or_else(|| borrowed("ISOLATE_HEAP_INITIAL_MB", "--initial-heap", 0..=MAX_HEAP_MB).map(ByteSize::mb));
        Self {
            isolates: usize::from(isolates.unwrap_or(1000)),
            max_per_owner: flags.max_per_owner.or(operator.max_per_owner).map(usize::from),
            initial_heap: initial_heap.unwrap_or_default(),
            spares: usize::from(flags.spares.or(operator.spares).unwrap_or(2)),
            memory_budget: flags.memory_budget.or(operator.memory_budget).filter(|size| *size > ByteSize(0)),
            max_queued: max_queued.map(|count| count as usize),
            terms: ServerLimits {
                threads: threads.map_or_else(cores, usize::from).max(1),
                max_fresh: usize::from(flags.max_fresh.or(operator.max_fresh).unwrap_or(MAX_FRESH)),
                queue: flags.queue.or(operator.queue).unwrap_or(100) as usize,
                queue_timeout: flags.queue_timeout.or(operator.queue_timeout).unwrap_or(Duration::from_secs(5)),
            },
        }
    }

    pub fn cell(&self) -> AppPoolsConfig {
        AppPoolsConfig {
            threads: self.terms.threads,
            isolates: self.isolates,
            max_per_owner: self.max_per_owner,
            max_fresh: self.terms.max_fresh,
            spares: self.spares,
            budget: Budget::for_machine(self.terms.threads, 1, self.memory_budget),
            max_queued: self.max_queued,
        }
    }
}

/// Lays the command line's settings of apps over `layer`.
pub fn override_with(layer: &mut Manifest, flags: &AppDefaults) {
    fn set<T>(to: &mut Option<T>, flag: Option<T>) {
        if flag.is_some() {
            *to = flag;
        }
    }
    let lifetime = |ttl: Duration| if ttl.is_zero() { Lifetime::Ephemeral } else { Lifetime::Limited(ttl) };
    set(&mut layer.execution, flags.execution);
    set(&mut layer.max_workers, flags.workers.map(Bound::Limited));
    set(&mut layer.max_requests, flags.max_requests.map(Bound::Limited));
    set(&mut layer.lifetime, flags.ttl.map(lifetime));
    set(&mut layer.idle_timeout, flags.idle_timeout);
    set(&mut layer.cpu, flags.cpu);
    set(&mut layer.timeout, flags.wall);
    set(&mut layer.memory, flags.memory);
    set(&mut layer.stream_timeout, flags.stream_timeout);
    set(&mut layer.concurrency, flags.concurrency);
    set(&mut layer.max_body_size, flags.max_body);
}

/// Fills in settings from other programs' variables where `defaults` has none.
pub fn fill_in_borrowed(defaults: &mut Manifest) {
    if defaults.max_requests.is_none() {
        // There 0 means no limit, too.
        let uses: Option<u64> = borrowed("CONTEXT_MAX_REUSES", "--max-requests", 0..=u64::MAX);
        defaults.max_requests = uses.filter(|uses| *uses > 0).map(Bound::Limited);
    }
    if defaults.memory.is_none() {
        defaults.memory = borrowed("ISOLATE_HEAP_MAX_MB", "--memory", 0..=MAX_HEAP_MB).map(ByteSize::mb);
    }
}
