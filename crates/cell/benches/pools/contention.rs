//! Many tasks at once: for one worker, and for an app each. Two threads.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use hearth_cell::{AppHost, AppPools, Execution};

use crate::stage::{ALL, HELLO, SPARES, Stage, checked, once, rules, timed};
use crate::table::{time_row, times};

const LASTS: Duration = Duration::from_secs(2);
const TASKS: usize = 8;
/// A request to an idle worker never waits, so a task that only makes requests would never let another have its thread.
/// Connections do, when nothing more has come; after each request would measure tokio.
const IN_A_ROW: usize = 16;

pub async fn run(stage: Stage) {
    for execution in ALL {
        let cell = stage.cell(100, SPARES);
        let hosts = apps(&stage, &cell, execution).await;
        let one = || hosts[0].clone();
        times(&format!("{execution}, hello, two threads, many tasks"));
        for (name, hosts) in [
            ("1 task, 1 worker", vec![one()]),
            ("8 tasks, 1 worker", (0..TASKS).map(|_| one()).collect()),
            ("8 tasks, an app each", hosts.clone()),
        ] {
            let begun = Instant::now();
            let times = storm(hosts).await;
            let rate = times.len() as f64 / begun.elapsed().as_secs_f64();
            time_row(&format!("{name:<22} {rate:>9.0} requests/s"), times);
        }
        cell.close().await;
    }
}

async fn apps(stage: &Stage, cell: &AppPools, execution: Execution) -> Vec<AppHost> {
    let mut hosts = Vec::new();
    for number in 0..TASKS {
        let host = cell.host(stage.app(&format!("{execution}-{number}"), HELLO), &rules(execution, 1));
        checked(&host).await;
        if let Execution::Pooled | Execution::Pinned = execution {
            timed(&host, 10_000).await;
        }
        hosts.push(host);
    }
    hosts
}

/// A task for each, for a while.
async fn storm(hosts: Vec<AppHost>) -> Vec<Duration> {
    let end = Instant::now() + LASTS;
    let run = |host: AppHost| async move {
        let mut times = Vec::new();
        while Instant::now() < end {
            times.push(once(&host).await);
            if times.len() % IN_A_ROW == 0 {
                give_way().await;
            }
        }
        times
    };
    let tasks: Vec<_> = hosts.into_iter().map(|host| tokio::spawn(run(host))).collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    times
}

/// To the end of the thread's queue. `yield_now` waits until the thread has looked for I/O, which costs a system call; and
/// a thread that is sent to the reserve before that never does.
async fn give_way() {
    let mut waited = false;
    poll_fn(|context| {
        if waited {
            return Poll::Ready(());
        }
        waited = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}
