//! Sends `scheduled` events when they are due. Only the version that the bare name means has its crons run: of two
//! versions of an app that are both there, one is meant. What was missed while the server was down is not made up for.
//!
//! Invariant: a run that is still going is not started twice.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hearth_config::Cron;
use hearth_core::{AppName, VersionName};
use hearth_ipc::{Active, EventOutcome, Query, QueryReply};

use crate::catalogue::{Catalogue, State};
use crate::control::Control;
use crate::event::What;

/// Clocks may be set: nobody sleeps longer than this without a look.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

/// Seconds.
const SET_BACK: i64 = 60;

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
        let wait = next.map_or(LONGEST_SLEEP, |at| until(at).min(LONGEST_SLEEP));
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            changed = changes.changed() => if changed.is_err() { return },
            () = control.drained() => return,
        }
        let now = now();
        // A clock that was put back by a little catches up; one that was put back by more begins anew.
        if now < last {
            if last - now > SET_BACK {
                last = now;
            }
            continue;
        }
        let is_let_in = |_: &Due| !control.is_draining();
        for due in due_between(&control.catalogue(), last, now).into_iter().filter(is_let_in) {
            start(&control, &running, due, now);
        }
        last = now;
    }
}

fn start(control: &Control, running: &Running, due: Due, at: i64) {
    let key = (due.app.clone(), due.cron.clone());
    if !lock(running).insert(key.clone()) {
        tracing::warn!(app = due.app.as_str(), cron = due.cron, "A cron is due while its last run goes on: left out");
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
    let ask = Query::Scheduled { app, version, time, cron };
    let message = match control.shared.cells.query(ask).await {
        Ok(QueryReply::Event(EventOutcome::Succeeded { .. })) => {
            tracing::debug!(app = due.app.as_str(), cron = due.cron, "A cron ran");
            return;
        }
        Ok(QueryReply::Event(EventOutcome::Failed { message } | EventOutcome::Refused { message, .. })) => message,
        // It was removed in this moment.
        Ok(_) => return,
        Err(error) => error.to_string(),
    };
    tracing::error!(
        app = due.app.as_str(),
        version = due.version.as_str(),
        cron = due.cron,
        "A cron failed: {message}"
    );
    control.shared.events.tell(What::CronFailed { app: due.app.to_string(), cron: due.cron.clone(), message });
}

/// All crons of what is served under a bare name.
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

/// Those that became due after `from`, up to and at `to`; each once, however often it would have been.
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
