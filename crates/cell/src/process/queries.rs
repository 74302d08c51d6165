//! Answers queries of control.

use hearth_core::{AppName, Failure, VersionName};
use hearth_ipc::{CellMessage, EventOutcome, Query, QueryId, QueryReply};
use hearth_runtime::{EventResult, Scheduled, Task};
use serde_json::Value;

use super::control_writer::ControlWriter;
use super::eval;
use super::stats::StatsSource;
use crate::routing::VersionLoader;

/// The result of a task, as JSON.
const MAX_RESULT_BYTES: usize = 16 << 20;

/// Sends the reply to a query. Control waits for it, so dropping the guard sends an error.
struct ReplyGuard<'a> {
    writer: &'a ControlWriter,
    id: Option<QueryId>,
}

impl ReplyGuard<'_> {
    fn send(mut self, reply: QueryReply) {
        if let Some(id) = self.id.take() {
            self.writer.send(CellMessage::Reply { id, reply });
        }
    }
}

impl Drop for ReplyGuard<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let message = "internal error: the query was dropped".to_owned();
            let reply = QueryReply::Event(EventOutcome::Refused { code: "internal".to_owned(), message });
            self.writer.send(CellMessage::Reply { id, reply });
        }
    }
}

pub(super) async fn answer(
    loader: &VersionLoader,
    stats: &StatsSource,
    writer: &ControlWriter,
    id: QueryId,
    query: Query,
) {
    let reply_guard = ReplyGuard { writer, id: Some(id) };
    let reply = match query {
        Query::Pool => QueryReply::Pool(serde_json::to_value(loader.pools.report()).unwrap_or(Value::Null)),
        Query::Workers => {
            let all = loader.pools.workers();
            QueryReply::Workers(all.iter().filter_map(|worker| serde_json::to_value(worker).ok()).collect())
        }
        Query::Eval(request) => QueryReply::Eval(Box::new(eval::evaluate(loader, *request).await)),
        Query::Quiet => {
            loader.pools.wait_until_quiet().await;
            QueryReply::Quiet
        }
        Query::Stats => return stats.report(|stats| reply_guard.send(QueryReply::Stats(stats))),
        Query::Load { app, version } => QueryReply::Event(load(loader, &app, &version).await),
        Query::Scheduled { app, version, time, cron } => {
            let event = Scheduled { scheduled_time: time as f64, cron };
            send_event(loader, &app, &version, async |host| host.scheduled(event, || {}).await).await
        }
        Query::Task { app, version, id, payload, attempt, time } => {
            let event = Task { id, payload, attempt, scheduled_time: Some(time as f64) };
            send_event(loader, &app, &version, async |host| host.task(event, || {}).await).await
        }
    };
    reply_guard.send(reply);
}

/// Starts a worker of the app, so that its first request finds it warm; a static site has none.
async fn load(loader: &VersionLoader, app: &AppName, version: &VersionName) -> EventOutcome {
    let Some(version) = loader.version(app, version) else { return EventOutcome::NoSuchApp };
    let Some(host) = version.host() else { return EventOutcome::Succeeded { data: None } };
    match host.warm().await {
        Ok(()) => EventOutcome::Succeeded { data: None },
        Err(failure) => EventOutcome::Failed { message: failure.to_string() },
    }
}

async fn send_event(
    loader: &VersionLoader,
    app: &AppName,
    version: &VersionName,
    send: impl AsyncFnOnce(crate::host::AppHost) -> Result<EventResult, Failure>,
) -> QueryReply {
    let Some(version) = loader.version(app, version) else { return QueryReply::Event(EventOutcome::NoSuchApp) };
    let Some(host) = version.host() else { return QueryReply::Event(EventOutcome::NoSuchApp) };
    QueryReply::Event(match send(host.clone()).await {
        Ok(EventResult { success: true, data: Some(data), .. }) if data.len() > MAX_RESULT_BYTES => {
            let message = format!("the result has {} bytes, and may have {MAX_RESULT_BYTES}", data.len());
            EventOutcome::Refused { code: "result_too_large".to_owned(), message }
        }
        Ok(result) if result.success => EventOutcome::Succeeded { data: result.data },
        Ok(result) => EventOutcome::Failed { message: result.error.unwrap_or_else(|| "the task failed".into()) },
        Err(failure) => {
            let (_, code) = hearth_gateway::status_and_code(&failure);
            EventOutcome::Refused { code: code.to_owned(), message: failure.to_string() }
        }
    })
}
