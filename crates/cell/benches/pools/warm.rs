//! Warm: what the pool adds to a request, and the whole request.

use std::hint::black_box;
use std::time::{Duration, Instant};

use hearth_cell::{AppHost, AppPools, Execution};
use hearth_pool::{Gate, GateLimits, OwnerLimits};

use crate::stage::{ALL, HELLO, SPARES, Stage, WARM, checked, once, rules, settled, timed};
use crate::table::{time_row, times};

/// Nanoseconds are measured in batches: a look at the clock takes about as long as what is measured.
const BATCH: u32 = 100;
const BATCHES: usize = 5000;

pub async fn run(stage: Stage) {
    let cell = stage.cell(100, SPARES);
    times("acquire a warm worker and give it back, no JavaScript");
    time_row("the owner's gate: enter and leave", gate());
    for execution in WARM {
        let host = cell.host(stage.app("acquired", HELLO), &rules(execution, 2));
        settled(&host).await;
        time_row(&format!("{execution}: lease of a worker"), leases(&host).await);
        host.retire();
    }
    times("request inside the process, hello");
    for execution in ALL {
        let host = cell.host(stage.app(execution.as_str(), HELLO), &rules(execution, 2));
        checked(&host).await;
        requests(&cell, &host, execution).await;
        host.retire();
    }
    cell.close().await;
}

/// As it is for warm workers: without bounds that owners share.
fn gate() -> Vec<Duration> {
    let limits = OwnerLimits { max_running: 64, max_queued: 100, queue_timeout: Duration::from_secs(5), weight: 1 };
    let owner = Gate::new(GateLimits::default()).add_owner(limits);
    let batch = || {
        let begun = Instant::now();
        for _ in 0..BATCH {
            drop(black_box(owner.try_enter_owned()));
        }
        begun.elapsed() / BATCH
    };
    (0..BATCHES).map(|_| batch()).collect()
}

/// `AppHost::warm` takes a lease, past the gate, and drops it: nothing else, where a worker is warm.
async fn leases(host: &AppHost) -> Vec<Duration> {
    let mut times = Vec::with_capacity(BATCHES);
    for _ in 0..BATCHES {
        let begun = Instant::now();
        for _ in 0..BATCH {
            host.warm().await.unwrap();
        }
        times.push(begun.elapsed() / BATCH);
    }
    times
}

async fn requests(cell: &AppPools, host: &AppHost, execution: Execution) {
    match execution {
        Execution::Auto | Execution::Pooled => {
            settled(host).await;
            time_row("pooled", timed(host, 200_000).await);
        }
        Execution::Pinned => {
            settled(host).await;
            time_row("pinned, from another thread than the worker's", timed(host, 50_000).await);
        }
        Execution::Oneshot => {
            let mut times = Vec::new();
            for _ in 0..500 {
                cell.spares_ready(SPARES).await;
                times.push(once(host).await);
            }
            time_row("oneshot, spare and compiled code at hand", times);
        }
        Execution::Shared => time_row("shared, isolate and compiled code at hand", timed(host, 5000).await),
    }
}
