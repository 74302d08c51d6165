//! `hearth workers`, `pool`, `metrics`, `crashes`, `reload`, `drain`: the state of the server.

use std::fmt::Write as _;
use std::time::Duration;

use hearth_control::action::Action;
use hearth_core::time::rfc3339;

use super::Session;
use super::error::RemoteError;
use super::options::{DrainOptions, MetricsOptions};
use super::responses::{Crash, Crashes, Metrics, Pool, Reloaded, Worker};
use crate::terminal::{Align, Style, Table, Tint, confirm, escape, escape_lines, size, time};

pub(super) fn workers(session: &Session) -> Result<(), RemoteError> {
    let (value, mut workers) = session.server.ask::<Vec<Worker>>(&Action::Workers)?;
    workers.sort_by(|a, b| (&a.app, &a.version, &a.id).cmp(&(&b.app, &b.version, &b.id)));
    session.output.answer(&value, |style| workers_text(&workers, style))
}

pub(super) fn pool(session: &Session) -> Result<(), RemoteError> {
    let (value, pool) = session.server.ask::<Pool>(&Action::Pool)?;
    session.output.answer(&value, |style| pool_text(&pool, style))
}

pub(super) fn metrics(session: &Session, options: &MetricsOptions) -> Result<(), RemoteError> {
    if options.prometheus {
        let text = session.server.text(&Action::Prometheus)?;
        return session.output.write(&escape_lines(&text));
    }
    let (value, metrics) = session.server.ask::<Metrics>(&Action::Metrics)?;
    session.output.answer(&value, |style| metrics_text(&metrics, style))
}

pub(super) fn crashes(session: &Session) -> Result<(), RemoteError> {
    let (value, found) = session.server.ask::<Crashes>(&Action::Crashes)?;
    session.output.answer(&value, |style| crashes_text(&found.crashes, style))
}

pub(super) fn drain(session: &Session, options: &DrainOptions) -> Result<(), RemoteError> {
    if options.undo {
        let value = session.server.value(&Action::UndoDrain)?;
        return session.output.answer(&value, |_| "requests are let in again".to_owned());
    }
    if !options.yes {
        match confirm("End the server?")? {
            Some(true) => {}
            Some(false) => return Err(RemoteError::Declined),
            None => return Err(RemoteError::Unasked),
        }
    }
    let value = session.server.value(&Action::Drain)?;
    session.output.answer(&value, |_| "the server ends when what is in flight is finished".to_owned())
}

pub(super) fn upgrade(session: &Session) -> Result<(), RemoteError> {
    let value = session.server.value(&Action::Upgrade)?;
    let name = |key: &str| value[key].as_str().unwrap_or("?").to_owned();
    let (from, to) = (name("from"), name("to"));
    session.output.answer(&value, |_| format!("{to} takes over from {from}; requests in flight finish where they are"))
}

pub(super) fn reload(session: &Session) -> Result<(), RemoteError> {
    let (value, reloaded) = session.server.ask::<Reloaded>(&Action::Reload)?;
    session.output.answer(&value, |style| reloaded_text(&reloaded, style))
}

fn reloaded_text(reloaded: &Reloaded, style: Style) -> String {
    let mut out = String::new();
    let keys = |keys: &[String]| escape(&keys.join(", "));
    // Writing to a string cannot fail.
    if !reloaded.changed.is_empty() {
        let _ = writeln!(out, "counts now: {}", keys(&reloaded.changed));
    }
    if !reloaded.needs_restart.is_empty() {
        let words = style.paint(Tint::Yellow, "counts after a restart only");
        let _ = writeln!(out, "{words}: {}", keys(&reloaded.needs_restart));
    }
    if reloaded.certificates == "renewed" {
        out.push_str("the certificates are new ones\n");
    }
    if reloaded.cells == "replaced" {
        out.push_str("new cells have taken over\n");
    }
    if out.is_empty() { "nothing has changed\n".to_owned() } else { out }
}

fn workers_text(workers: &[Worker], style: Style) -> String {
    let mut table = Table::new(&[
        ("APP", Align::Left),
        ("VERSION", Align::Left),
        ("WORKER", Align::Left),
        ("STATUS", Align::Left),
        ("AGE", Align::Right),
        ("IDLE", Align::Right),
        ("REQUESTS", Align::Right),
        ("ERRORS", Align::Right),
        ("AVERAGE", Align::Right),
        ("MEMORY", Align::Right),
    ]);
    for worker in workers {
        let tint = match worker.status.as_str() {
            "active" | "ephemeral" => Tint::Green,
            "idle" => Tint::Dim,
            _ => Tint::Yellow,
        };
        table.row([
            (worker.app.clone(), Some(Tint::Bold)),
            (worker.version.clone(), None),
            (worker.id.clone(), None),
            (worker.status.clone(), Some(tint)),
            (time(Duration::from_millis(worker.age_ms)), None),
            (time(Duration::from_millis(worker.idle_ms)), None),
            (worker.request_count.to_string(), None),
            (worker.error_count.to_string(), (worker.error_count > 0).then_some(Tint::Red)),
            (format!("{:.1}ms", worker.avg_response_time_ms), None),
            (size(worker.memory_bytes), None),
        ]);
    }
    if table.is_empty() { "no workers".to_owned() } else { table.write(style) }
}

fn pool_text(pool: &Pool, style: Style) -> String {
    let Pool { spares, memory, .. } = pool;
    let mut out = list(
        &[
            ("workers", format!("{} warm of {}, room for {} more", pool.cached, pool.total, pool.capacity)),
            ("requests", format!("{} running, {} waiting", pool.running, pool.queued)),
            ("found warm", format!("{} of {}", pool.hits, pool.hits + pool.misses)),
            ("isolates", format!("{} live, {} made, {} workers evicted", pool.live, pool.created, pool.evictions)),
            ("spares", format!("{} ready of {}", spares.ready, spares.wanted)),
            ("heaps", format!("{} of {}", size(memory.heaps), size(memory.heaps_budget))),
            ("memory", format!("{} of {}", size(memory.heaps + memory.buffers), size(memory.budget))),
        ],
        style,
    );
    let right = ["RUNNING", "WAITING", "SERVED", "REFUSED", "WARM", "FOUND WARM"].map(|name| (name, Align::Right));
    let mut table = Table::new(&[&[("OWNER", Align::Left)][..], &right].concat());
    for (name, owner) in &pool.owners {
        let refused: u64 = owner.refused.values().sum();
        table.row([
            (name.clone(), Some(Tint::Bold)),
            (owner.running.to_string(), None),
            (owner.queued.to_string(), None),
            (owner.entered.to_string(), None),
            (refused.to_string(), (refused > 0).then_some(Tint::Red)),
            (owner.cached.to_string(), None),
            (format!("{} of {}", owner.hits, owner.hits + owner.misses), None),
        ]);
    }
    if !table.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(out, "\n{}", table.write(style));
    }
    if !pool.stuck.is_empty() {
        let stuck = pool.stuck.iter().map(|app| escape(app)).collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "\n{}: {stuck}", style.paint(Tint::Red, "stuck"));
    }
    out
}

fn metrics_text(metrics: &Metrics, style: Style) -> String {
    list(
        &[
            ("up for", time(Duration::from_millis(metrics.uptime_ms))),
            ("requests", format!("{}, {} a second", metrics.total_requests, metrics.requests_per_second)),
            ("response time", format!("{}ms, of the last 100", metrics.avg_response_time_ms)),
            ("found warm", format!("{}%", metrics.hit_rate)),
            (
                "workers",
                format!(
                    "{} now, {} started, {} failed, {} retired, {} evicted",
                    metrics.active_workers,
                    metrics.total_workers_created,
                    metrics.total_workers_failed,
                    metrics.total_workers_retired,
                    metrics.evictions
                ),
            ),
            ("memory", format!("{} MB", metrics.memory_usage_mb)),
        ],
        style,
    )
}

fn crashes_text(crashes: &[Crash], style: Style) -> String {
    let mut out = String::new();
    for crash in crashes {
        let (time, status) = (rfc3339(crash.time), style.paint(Tint::Red, &escape(&crash.status)));
        let _ = writeln!(out, "{time} cell {}: {status}", crash.cell);
        if let Some(culprit) = culprit(crash) {
            let _ = writeln!(out, "  by {}", style.paint(Tint::Bold, &escape(&culprit)));
        }
        for line in &crash.last_words {
            let _ = writeln!(out, "  {}", escape(line));
        }
    }
    if out.is_empty() { "no crashes".to_owned() } else { out }
}

/// `shop@1.0.0 of ann, handling request 6f2a…`
fn culprit(crash: &Crash) -> Option<String> {
    let (app, version, owner) = (crash.app.as_ref()?, crash.version.as_ref()?, crash.owner.as_ref()?);
    let phase = crash.phase.as_ref().map_or(String::new(), |phase| format!(", {}", phase.replace('_', " ")));
    let request = crash.request_id.as_ref().map_or(String::new(), |id| format!(" of request {id}"));
    Some(format!("{app}@{version} of {owner}{phase}{request}"))
}

/// Names and values, one pair per line.
fn list(rows: &[(&str, String)], style: Style) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter()
        .map(|(name, value)| format!("{}  {value}\n", style.paint(Tint::Dim, &format!("{name:width$}"))))
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "status/tests.rs"]
mod tests;
