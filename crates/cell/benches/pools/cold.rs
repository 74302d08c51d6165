//! Cold: the first request of a new app, and the next start of the same code. Each app has code of its
//! own, so that none finds another's in the code cache.

use std::sync::Arc;
use std::time::Duration;

use hearth_cell::{AppHost, AppPools, Execution};
use hearth_runtime::App;

use crate::stage::{ALL, SPARES, Stage, checked, once, rules};
use crate::table::{fact_row, facts, time_row, times};

const CODE: &str = include_str!("app.js");
const APPS: usize = 100;
/// The target is for at most a hundred new apps a second. Between them the machine goes to sleep, and caches to others:
/// without a pause the same start is faster.
const PACE: Duration = Duration::from_millis(10);

/// How apps come.
#[derive(Clone, Copy)]
struct Arrival {
    spares: usize,
    pause: Duration,
    code: Code,
}

/// What a first request finds of its app's code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Code {
    /// It was compiled when the app became known, as in a server.
    Compiled,
    /// Nothing: the request came too soon.
    StatsSource,
}

pub async fn run(stage: Stage) {
    let mut number = 0;
    for (name, arrival) in [
        ("spare at hand, 100 apps/s", Arrival { spares: SPARES, pause: PACE, code: Code::Compiled }),
        ("the same, not compiled yet", Arrival { spares: SPARES, pause: PACE, code: Code::StatsSource }),
        ("spare at hand, no pause", Arrival { spares: SPARES, pause: Duration::ZERO, code: Code::Compiled }),
        ("no spares, 100 apps/s", Arrival { spares: 0, pause: PACE, code: Code::Compiled }),
    ] {
        times(&format!("first request of a {}-byte app, {name}", CODE.len()));
        for execution in ALL {
            let cell = stage.cell(2 * APPS + 10, arrival.spares);
            let mut apps = Vec::new();
            for _ in 0..=APPS {
                number += 1;
                apps.push(stage.app(&format!("cold-{number}"), &CODE.replace("NUMBER", &number.to_string())));
            }
            starts(&cell, &apps, execution, arrival).await;
            cell.close().await;
        }
    }
    let stats = stage.compiled();
    facts("code cache");
    fact_row("entries, hits, misses", format!("{}, {}, {}", stats.entries, stats.hits, stats.misses));
    fact_row("bytes for each app", stats.bytes / stats.entries.max(1));
}

async fn starts(cell: &AppPools, apps: &[Arc<App>], execution: Execution, arrival: Arrival) {
    let (first, rest) = apps.split_first().unwrap();
    // Threads start with the first, and pages are touched.
    checked(&cell.host(first.clone(), &rules(execution, 2))).await;
    let (hosts, times) = round(cell, rest, execution, arrival).await;
    // No spare is used for an owner's isolate, which its first request has to wait for.
    let isolate = if execution == Execution::Shared { ", isolate made for it" } else { "" };
    time_row(&format!("{execution}{isolate}"), times);
    // Their workers go, so that the next start is one; their compiled code stays.
    hosts.iter().for_each(AppHost::retire);
    drop(hosts);
    tokio::time::sleep(PACE * 20).await;
    let (_, times) = round(cell, rest, execution, arrival).await;
    let isolate = if execution == Execution::Shared { ", isolate at hand" } else { "" };
    time_row(&format!("{execution}, once more{isolate}"), times);
}

async fn round(
    cell: &AppPools,
    apps: &[Arc<App>],
    execution: Execution,
    arrival: Arrival,
) -> (Vec<AppHost>, Vec<Duration>) {
    let (mut hosts, mut times) = (Vec::new(), Vec::new());
    for app in apps {
        let host = cell.host(app.clone(), &rules(execution, 2));
        if arrival.code == Code::Compiled {
            cell.compile(app.clone()).await;
        }
        cell.spares_ready(arrival.spares).await;
        tokio::time::sleep(arrival.pause).await;
        times.push(once(&host).await);
        hosts.push(host);
    }
    (hosts, times)
}
