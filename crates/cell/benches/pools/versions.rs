//! How a warm request's cost grows with versions that are registered beside its own and never asked for.

use std::time::Instant;

use hearth_cell::Execution;

use crate::stage::{HELLO, SPARES, Stage, WARM, rules, settled, timed};
use crate::table::{fact_row, facts, resident, time_row, times};

const COUNTS: [usize; 4] = [10, 100, 1000, 10_000];

pub async fn run(stage: Stage) {
    let cell = stage.cell(100, SPARES);
    let apps: Vec<_> = (0..COUNTS[3]).map(|number| stage.app(&format!("app-{number}"), HELLO)).collect();
    let (before, begun) = (resident(), Instant::now());
    let hosts: Vec<_> = apps.iter().map(|app| cell.host(app.clone(), &rules(Execution::Pooled, 2))).collect();
    let (took, grew) = (begun.elapsed(), resident() - before);
    facts(&format!("registering {} versions, an owner each", hosts.len()));
    fact_row("time for each", format!("{:.2?}", took / hosts.len() as u32));
    fact_row("resident memory for each", format!("{:.2} KiB", grew / hosts.len() as f64));
    let begun = Instant::now();
    let report = cell.report();
    fact_row("a report on all of them", format!("{:.2?} ({} owners)", begun.elapsed(), report.owners.len()));
    drop(hosts);
    cell.close().await;

    for execution in WARM {
        times(&format!("warm request beside idle versions, hello, {execution}"));
        for count in COUNTS {
            let cell = stage.cell(100, SPARES);
            let hosts: Vec<_> = apps[..count].iter().map(|app| cell.host(app.clone(), &rules(execution, 2))).collect();
            let used = &hosts[count / 2];
            settled(used).await;
            time_row(&format!("{count} versions"), timed(used, 50_000).await);
            cell.close().await;
        }
    }
}
