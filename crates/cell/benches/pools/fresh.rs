//! A context or an isolate of its own for each request, on one task and one thread. What is made ahead and destroyed behind
//! happens on other threads, so CPU time says what one core could do.

use std::time::{Duration, Instant};

use hearth_cell::{AppPools, Execution};

use crate::stage::{HELLO, SPARES, Stage, checked, once, rules};
use crate::table::{cpu, fact_row, facts};

const LASTS: Duration = Duration::from_secs(3);

pub async fn run(stage: Stage) {
    facts("fresh for each request, hello, one task");
    for (name, execution, spares) in [
        ("a context (shared)", Execution::Shared, 0),
        ("an isolate (oneshot), no spares", Execution::Oneshot, 0),
        ("an isolate (oneshot), spares", Execution::Oneshot, SPARES),
    ] {
        let cell = stage.cell(100, spares);
        fact_row(name, rate(&stage, &cell, execution, spares).await);
        cell.close().await;
    }
}

async fn rate(stage: &Stage, cell: &AppPools, execution: Execution, spares: usize) -> String {
    let host = cell.host(stage.app(execution.as_str(), HELLO), &rules(execution, 2));
    checked(&host).await;
    cell.spares_ready(spares).await;
    let (begun, cpu_before, mut count) = (Instant::now(), cpu(), 0);
    while begun.elapsed() < LASTS {
        once(&host).await;
        count += 1;
    }
    let (time, used) = (begun.elapsed().as_secs_f64(), cpu() - cpu_before);
    let count = f64::from(count);
    format!("{:>6.0} requests/s {:>6.0} requests per CPU second", count / time, count / used)
}
