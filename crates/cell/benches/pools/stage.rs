//! What all sections need: cells, apps, and requests that are timed one by one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_cell::{AppHost, AppPools, AppPoolsConfig, AppRules, Budget, Execution, ItemLifetime};
use hearth_core::ByteSize;
use hearth_egress::Client;
use hearth_runtime::{App, CodeCache, CodeCacheStatistics, Platform, Snapshot, TurnPools};

use crate::one_module::{named, no_egress, request, text};

pub const HELLO: &str = "export default { fetch() { return new Response('Hello, World!'); } };";
pub const ALL: [Execution; 4] = [Execution::Pooled, Execution::Pinned, Execution::Oneshot, Execution::Shared];
/// Those with workers that stay.
pub const WARM: [Execution; 2] = [Execution::Pooled, Execution::Pinned];
/// As many as the program keeps unless it is told otherwise.
pub const SPARES: usize = 2;
/// Requests after which V8 has done what it does for code as small as this.
const SETTLED: usize = 20_000;

pub struct Stage {
    platform: Platform,
    snapshot: Snapshot,
    turn_pools: TurnPools,
    threads: usize,
    egress: Arc<Client>,
    code_cache: Arc<CodeCache>,
}

impl Stage {
    pub fn new(platform: Platform, turn_pools: TurnPools, threads: usize) -> Self {
        let (snapshot, egress) = (hearth_snapshot::snapshot(), no_egress());
        Self { platform, snapshot, turn_pools, threads, egress, code_cache: Arc::new(CodeCache::new(ByteSize::mb(64))) }
    }

    pub fn cell(&self, isolates: usize, spares: usize) -> AppPools {
        let budget = Budget::for_machine(self.threads, 1, None);
        let config = AppPoolsConfig {
            threads: self.threads,
            isolates,
            max_per_owner: None,
            max_fresh: isolates,
            max_queued: None,
            spares,
            budget,
        };
        AppPools::start(self.platform, &self.snapshot, self.turn_pools.clone(), config)
    }

    /// An app with an owner of its own.
    pub fn app(&self, name: &str, code: &str) -> Arc<App> {
        named(name, code, self.egress.clone(), self.code_cache.clone())
    }

    pub fn compiled(&self) -> CodeCacheStatistics {
        self.code_cache.statistics()
    }
}

pub fn rules(execution: Execution, workers: usize) -> AppRules {
    AppRules {
        execution,
        workers,
        queue: 100,
        queue_timeout: Duration::from_secs(5),
        weight: 1,
        lifetime: ItemLifetime { uses: None, ttl: None, idle: None },
        timings: Default::default(),
    }
}

/// What is measured must at least be an answer.
pub async fn checked(host: &AppHost) {
    let response = host.fetch(request(b""), || {}).await.unwrap();
    let (status, said) = (response.status, text(response).await);
    assert!(status == 200 && said.starts_with("Hello"), "answered {status}: {said}");
}

pub async fn settled(host: &AppHost) {
    checked(host).await;
    timed(host, SETTLED).await;
}

/// The time of each of `count` requests. The clock's own, some 30 ns, is in it.
pub async fn timed(host: &AppHost, count: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        times.push(once(host).await);
    }
    times
}

pub async fn once(host: &AppHost) -> Duration {
    // The thread that reads the request from a connection makes it.
    let request = request(b"");
    let begun = Instant::now();
    let response = host.fetch(request, || {}).await.unwrap();
    let time = begun.elapsed();
    drop(response);
    time
}
