//! What many warm workers cost: their memory, and what a request pays for all the others.

use std::time::{Duration, Instant};

use hearth_cell::{AppHost, AppPools, Execution};
use hearth_runtime::memory_totals;

use crate::stage::{HELLO, SPARES, Stage, checked, once, rules};
use crate::table::{fact_row, facts, resident, time_row, times};

/// Requests to each worker, so that V8 has compiled in all of them what it will.
const SETTLE: usize = 1000;
const TIMED: usize = 50_000;
const ROUNDS: usize = 3;
const REST: Duration = Duration::from_secs(3);

pub async fn run(stage: Stage) {
    let cell = stage.cell(1500, SPARES);
    let first = cell.host(stage.app("first", HELLO), &rules(Execution::Pooled, 1));
    checked(&first).await;
    cell.spares_ready(SPARES).await;

    facts("resident memory for each warm worker (pooled, an app each, hello)");
    let empty = resident();
    let each = |hosts: &[AppHost]| format!("{:.0} KiB", (resident() - empty) / hosts.len() as f64);
    let mut hosts = Vec::new();
    for count in [200, 1000] {
        let begun = Instant::now();
        add(&stage, &cell, &mut hosts, count).await;
        let took = begun.elapsed().as_secs_f64();
        fact_row(&format!("{count} workers, after a request each"), format!("{} ({took:.1} s)", each(&hosts)));
    }
    tokio::time::sleep(REST).await;
    fact_row(&format!("the same, {REST:?} later"), each(&hosts));

    let mut in_turn = Vec::new();
    for count in [1, 100, 1000] {
        let some = &hosts[..count];
        for _ in 0..SETTLE {
            round(some, &mut Vec::new()).await;
        }
        let mut times = Vec::with_capacity(TIMED + count);
        while times.len() < TIMED {
            round(some, &mut times).await;
        }
        in_turn.push((count, times));
    }
    fact_row(&format!("the same, after {SETTLE} requests or more to each"), each(&hosts));
    let report = cell.report();
    fact_row("workers kept, evicted", format!("{}, {}", report.cached, report.evictions));
    let heap = report.memory.heaps / report.live.max(1) / 1024;
    fact_row("heaps, as the ledger has them, for each isolate", format!("{heap} KiB"));

    times("warm request, workers in turn");
    for (count, times) in in_turn {
        time_row(&format!("{count} workers"), times);
    }

    drop((first, hosts));
    cell.close().await;
    facts("memory above the beginning, and isolates left of all that were made");
    fact_row("after those", left(empty).await);
    for round in 1..=ROUNDS {
        let cell = stage.cell(1500, SPARES);
        let mut hosts = Vec::new();
        add(&stage, &cell, &mut hosts, 200).await;
        drop(hosts);
        cell.close().await;
        fact_row(&format!("200 workers more, and gone ({round})"), left(empty).await);
    }
}

/// What a process keeps is no leak as long as it is used again: these stay the same from round to round.
async fn left(empty: f64) -> String {
    tokio::time::sleep(REST).await;
    let held = memory_totals();
    format!("{:.0} KiB, {} of {}", resident() - empty, held.isolates, held.created)
}

async fn add(stage: &Stage, cell: &AppPools, hosts: &mut Vec<AppHost>, count: usize) {
    for number in hosts.len()..count {
        let host = cell.host(stage.app(&format!("app-{number}"), HELLO), &rules(Execution::Pooled, 1));
        once(&host).await;
        hosts.push(host);
    }
}

async fn round(hosts: &[AppHost], times: &mut Vec<Duration>) {
    for host in hosts {
        times.push(once(host).await);
    }
}
