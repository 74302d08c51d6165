//! What control asks, answered.

use hearth_core::{AppName, Failure, VersionName};
use hearth_ipc::{CellMessage, EventOutcome, Query, QueryId, QueryReply};
use hearth_runtime::{EventResult, Scheduled, Task};
use serde_json::Value;

use super::eval;
use super::outbox::Outbox;
use super::stats::Source;
use crate::serving::Workshop;

/// Of a task, as JSON.
const LARGEST_RESULT: usize = 16 << 20;

/// An answer that is owed. Control waits for it, so one is given even if there is none.
struct Owed<'a> {
    outbox: &'a Outbox,
    id: Option<QueryId>,
}

impl Owed<'_> {
    fn pay(mut self, reply: QueryReply) {
        if let Some(id) = self.id.take() {
            self.outbox.send(CellMessage::Reply { id, reply });
        }
    }
}

impl Drop for Owed<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let message = "internal error: the question was dropped".to_owned();
            let reply = QueryReply::Event(EventOutcome::Refused { code: "internal".to_owned(), message });
            self.outbox.send(CellMessage::Reply { id, reply });
        }
    }
}

pub(super) async fn answer(workshop: &Workshop, stats: &Source, outbox: &Outbox, id: QueryId, query: Query) {
    let owed = Owed { outbox, id: Some(id) };
    let reply = match query {
        Query::Pool => QueryReply::Pool(serde_json::to_value(workshop.cell.report()).unwrap_or(Value::Null)),
        Query::Workers => {
            let all = workshop.cell.workers();
            QueryReply::Workers(all.iter().filter_map(|worker| serde_json::to_value(worker).ok()).collect())
        }
        Query::Eval(request) => QueryReply::Eval(Box::new(eval::evaluate(workshop, *request).await)),
        Query::Quiet => {
            workshop.cell.quiet().await;
            QueryReply::Quiet
        }
        Query::Stats => return stats.tell(|stats| owed.pay(QueryReply::Stats(stats))),
        Query::Load { app, version } => QueryReply::Event(load(workshop, &app, &version).await),
        Query::Scheduled { app, version, time, cron } => {
            let event = Scheduled { scheduled_time: time as f64, cron };
            event_of(workshop, &app, &version, async |host| host.scheduled(event, || {}).await).await
        }
        Query::Task { app, version, id, payload, attempt, time } => {
            let event = Task { id, payload, attempt, scheduled_time: Some(time as f64) };
            event_of(workshop, &app, &version, async |host| host.task(event, || {}).await).await
        }
    };
    owed.pay(reply);
}

/// What it takes that the app comes to answer requests; a page takes nothing.
async fn load(workshop: &Workshop, app: &AppName, version: &VersionName) -> EventOutcome {
    let Some(served) = workshop.served(app, version) else { return EventOutcome::NoSuchApp };
    let Some(host) = served.host() else { return EventOutcome::Succeeded { data: None } };
    match host.warm().await {
        Ok(()) => EventOutcome::Succeeded { data: None },
        Err(failure) => EventOutcome::Failed { message: failure.to_string() },
    }
}

async fn event_of(
    workshop: &Workshop,
    app: &AppName,
    version: &VersionName,
    send: impl AsyncFnOnce(crate::host::AppHost) -> Result<EventResult, Failure>,
) -> QueryReply {
    let Some(served) = workshop.served(app, version) else { return QueryReply::Event(EventOutcome::NoSuchApp) };
    let Some(host) = served.host() else { return QueryReply::Event(EventOutcome::NoSuchApp) };
    QueryReply::Event(match send(host.clone()).await {
        Ok(EventResult { success: true, data: Some(data), .. }) if data.len() > LARGEST_RESULT => {
            let message = format!("the result has {} bytes, and may have {LARGEST_RESULT}", data.len());
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
