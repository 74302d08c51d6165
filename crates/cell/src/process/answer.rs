//! What control asks, answered.

use hearth_core::{AppName, Failure, VersionName};
use hearth_link::{Ask, CallId, EventOutcome, FromCell, Reply};
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
    call: Option<CallId>,
}

impl Owed<'_> {
    fn pay(mut self, reply: Reply) {
        if let Some(call) = self.call.take() {
            self.outbox.send(FromCell::Reply { call, reply });
        }
    }
}

impl Drop for Owed<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            let message = "internal error: the question was dropped".to_owned();
            let reply = Reply::Event(EventOutcome::Refused { code: "internal".to_owned(), message });
            self.outbox.send(FromCell::Reply { call, reply });
        }
    }
}

pub(super) async fn answer(workshop: &Workshop, stats: &Source, outbox: &Outbox, call: CallId, what: Ask) {
    let owed = Owed { outbox, call: Some(call) };
    let reply = match what {
        Ask::Pool => Reply::Pool(serde_json::to_value(workshop.cell.report()).unwrap_or(Value::Null)),
        Ask::Workers => {
            let all = workshop.cell.workers();
            Reply::Workers(all.iter().filter_map(|worker| serde_json::to_value(worker).ok()).collect())
        }
        Ask::Eval(request) => Reply::Eval(Box::new(eval::evaluate(workshop, *request).await)),
        Ask::Quiet => {
            workshop.cell.quiet().await;
            Reply::Quiet
        }
        Ask::Stats => return stats.tell(|stats| owed.pay(Reply::Stats(stats))),
        Ask::Load { app, version } => Reply::Event(load(workshop, &app, &version).await),
        Ask::Scheduled { app, version, time, cron } => {
            let event = Scheduled { scheduled_time: time as f64, cron };
            event_of(workshop, &app, &version, async |host| host.scheduled(event, || {}).await).await
        }
        Ask::Task { app, version, id, payload, attempt, time } => {
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
) -> Reply {
    let Some(served) = workshop.served(app, version) else { return Reply::Event(EventOutcome::NoSuchApp) };
    let Some(host) = served.host() else { return Reply::Event(EventOutcome::NoSuchApp) };
    Reply::Event(match send(host.clone()).await {
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
