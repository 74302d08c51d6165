//! Sends `scheduled` events when they are due. Only the active version of an app has its crons run. Runs that were missed
//! while the server was down are not made up for.
//!
//! Invariant: a cron is not started again while its last run goes on.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hearth_config::Cron;
use hearth_core::{AppName, VersionName};
use hearth_ipc::{Active, EventOutcome, Query, QueryReply};

use crate::catalogue::{Catalogue, State};
use crate::control::Control;
use crate::event::EventKind;

/// The clock may be set, so the loop wakes at least this often.
const MAX_SLEEP: Duration = Duration::from_secs(30);

/// A clock that is set back by at most this many seconds is waited for.
const MAX_CLOCK_STEP: i64 = 60;

/// One cron of one app.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Due {
    app: AppName,
    version: VersionName,
    cron: String,
}

type Running = Arc<Mutex<HashSet<(AppName, String)>>>;

/// Runs until the server drains.
pub(crate) async fn run(control: Control) {
    let running = Running::default();
    let mut last = now();
    let mut changes = control.shared.catalogue.subscribe();
    loop {
        let catalogue = changes.borrow_and_update().clone();
        let next = next_after(&catalogue, last);
        let wait = next.map_or(MAX_SLEEP, |at| until(at).min(MAX_SLEEP));
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            changed = changes.changed() => if changed.is_err() { return },
            () = control.drained() => return,
        }
        let now = now();
        // After a small step back the loop waits until the clock catches up; after a larger one it starts again from now.
        if now < last {
            if last - now > MAX_CLOCK_STEP {
                last = now;
            }
            continue;
        }
        let is_admitted = |_: &Due| !control.is_draining();
        for due in due_between(&control.catalogue(), last, now).into_iter().filter(is_admitted) {
            start(&control, &running, due, now);
        }
        last = now;
    }
}

fn start(control: &Control, running: &Running, due: Due, at: i64) {
    let key = (due.app.clone(), due.cron.clone());
    if !lock(running).insert(key.clone()) {
        tracing::warn!(app = due.app.as_str(), cron = due.cron, "cron skipped: its last run goes on");
        return;
    }
    let (control, running) = (control.clone(), running.clone());
    tokio::spawn(async move {
        send(&control, &due, at).await;
        lock(&running).remove(&key);
    });
}

async fn send(control: &Control, due: &Due, at: i64) {
    let Due { app, version, cron } = due.clone();
    let time = u64::try_from(at).unwrap_or_default() * 1_000;
    let query = Query::Scheduled { app, version, time, cron };
    let message = match control.shared.cells.query(query).await {
        Ok(QueryReply::Event(EventOutcome::Succeeded { .. })) => {
            tracing::debug!(app = due.app.as_str(), cron = due.cron, "cron finished");
            return;
        }
        Ok(QueryReply::Event(EventOutcome::Failed { message } | EventOutcome::Refused { message, .. })) => message,
        // The version was removed meanwhile.
        Ok(_) => return,
        Err(error) => error.to_string(),
    };
    tracing::error!(app = due.app.as_str(), version = due.version.as_str(), cron = due.cron, "cron failed: {message}");
    control.shared.events.record(EventKind::CronFailed { app: due.app.to_string(), cron: due.cron.clone(), message });
}

/// The crons of all active versions.
fn crons(catalogue: &Catalogue) -> impl Iterator<Item = (Due, &Cron)> {
    let served =
        |version: &&crate::catalogue::Version| version.state == State::Served && version.spec.active == Active::Yes;
    catalogue.versions.iter().filter(served).flat_map(|version| {
        let spec = &version.spec;
        spec.settings
            .crons
            .iter()
            .map(|cron| (Due { app: spec.app.clone(), version: spec.version.clone(), cron: cron.to_string() }, cron))
    })
}

fn next_after(catalogue: &Catalogue, time: i64) -> Option<i64> {
    crons(catalogue).filter_map(|(_, cron)| cron.next_after(time)).min()
}

/// The crons that became due after `from` and not after `to`, each once however often it was due.
fn due_between(catalogue: &Catalogue, from: i64, to: i64) -> Vec<Due> {
    crons(catalogue).filter(|(_, cron)| cron.next_after(from).is_some_and(|at| at <= to)).map(|(due, _)| due).collect()
}

fn now() -> i64 {
    i64::try_from(hearth_core::time::unix_millis() / 1_000).unwrap_or(i64::MAX)
}

fn until(at: i64) -> Duration {
    let milliseconds = u64::try_from(at).unwrap_or_default() * 1_000;
    Duration::from_millis(milliseconds.saturating_sub(hearth_core::time::unix_millis()))
}

fn lock(running: &Running) -> std::sync::MutexGuard<'_, HashSet<(AppName, String)>> {
    // Nothing that can panic runs under this lock.
    running.lock().unwrap_or_else(PoisonError::into_inner)
}
