//! `on_warm_hit` is called for an event whose worker was there before it, and for no other. Runs on the main thread of a process
//! of its own, because that is where V8 must be started.

#![allow(clippy::unwrap_used)]

#[path = "../../runtime/tests/support/one_module.rs"]
#[allow(dead_code)]
mod one_module;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hearth_cell::{AppHost, AppPools, AppPoolsConfig, AppRules, Budget, Execution, ItemLifetime};
use hearth_core::ByteSize;
use hearth_runtime::{CodeCache, JsThreads, Platform, Scheduled, Task};
use one_module::{named, no_egress, request};

const CODE: &str = "export default {
    fetch: () => new Response('fetched'), scheduled() {}, task: () => 'done',
};";

enum Event {
    Fetch,
    Scheduled,
    Task,
}

fn main() {
    let platform = Platform::init().unwrap();
    let threads = JsThreads::start(2).unwrap();
    let turn_pools = threads.turn_pools();
    threads.block_on(async {
        let config = AppPoolsConfig {
            threads: 2,
            isolates: 10,
            max_per_owner: None,
            max_fresh: 10,
            max_queued: None,
            spares: 0,
            budget: Budget::for_machine(2, 1, None),
        };
        let cell = AppPools::start(platform, &hearth_snapshot::snapshot(), turn_pools, config);
        for event in [Event::Fetch, Event::Scheduled, Event::Task] {
            for execution in [Execution::Pooled, Execution::Pinned, Execution::Oneshot, Execution::Shared] {
                let host = host(&cell, execution);
                let is_warm = matches!(execution, Execution::Pooled | Execution::Pinned);
                let hits = [send(&host, &event).await, send(&host, &event).await];
                assert_eq!(hits, [false, is_warm], "{execution}: the first event makes its worker");
            }
        }
        cell.close().await;
    });
    println!("test on_warm_hit_is_called_for_each_kind_of_event ... ok");
}

fn host(cell: &AppPools, execution: Execution) -> AppHost {
    let app = named("app", CODE, no_egress(), Arc::new(CodeCache::new(ByteSize::mb(1))));
    let rules = AppRules {
        execution,
        workers: 1,
        queue: 10,
        queue_timeout: Duration::from_secs(60),
        weight: 1,
        lifetime: ItemLifetime::default(),
        timings: Arc::default(),
    };
    cell.host(app, &rules)
}

/// Whether it was a warm hit.
async fn send(host: &AppHost, event: &Event) -> bool {
    let hit = AtomicBool::new(false);
    let on_warm_hit = || hit.store(true, Ordering::Relaxed);
    match event {
        Event::Fetch => assert_eq!(host.fetch(request(b""), on_warm_hit).await.unwrap().status, 200),
        Event::Scheduled => {
            let event = Scheduled { scheduled_time: 0.0, cron: "* * * * *".into() };
            assert!(host.scheduled(event, on_warm_hit).await.unwrap().success);
        }
        Event::Task => {
            let event = Task { id: "1".into(), payload: None, attempt: 1, scheduled_time: None };
            assert!(host.task(event, on_warm_hit).await.unwrap().success);
        }
    }
    hit.into_inner()
}
