//! Sessions that go on in the next program: their clients send the same id, and find what they had. What was agreed upon
//! with a client is remembered, so that nothing begins anew.
//!
//! Streams of events end at the change; clients open them again. What was kept of them is not: but no event is ever called as
//! another of its session was, so nobody is given what belongs elsewhere.

use std::time::Duration;

use hearth_sandbox::{Caller, Seen};
use rmcp::model::ClientConfig;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::line::Line;
use super::outbox::{Names, Outbox};
use super::talk::Talk;
use crate::session::Session;

#[derive(Serialize, Deserialize)]
struct KeptSession {
    secret: String,
    id: String,
    client: ClientConfig,
    events: Names,
    idle: Duration,
    /// Of each job, how much of its output was given.
    #[serde(default)]
    polled: Vec<(String, u64, u64)>,
}

impl Talk {
    /// Nobody listens any more for what is said unasked.
    pub(super) fn hang_up(&self) {
        self.table.all().iter().for_each(|line| line.outbox().hang_up());
    }

    /// All sessions, for the next program; none begins any more. One that has not quite begun ends.
    pub(super) async fn leave(&self) -> Value {
        let mut kept = Vec::new();
        for line in self.table.close() {
            match kept_of(&line) {
                Some(session) => kept.push(session),
                None => line.end().await,
            }
        }
        serde_json::to_value(kept).unwrap_or_default()
    }

    /// Goes on with those of the program before. Sandboxes of one that cannot go on are left to their idle time.
    pub(super) fn resume(&self, left: Value) {
        let all: Vec<KeptSession> = match left {
            Value::Null => return,
            left => serde_json::from_value(left).unwrap_or_else(|error| {
                tracing::warn!(%error, "The sessions of the program before cannot be understood, and end");
                Vec::new()
            }),
        };
        let count = all.len();
        for KeptSession { secret, id, client, events, idle, polled } in all {
            let session = Session::resume(self.sandboxes.clone(), Some(self.links.clone()), secret.clone(), id);
            for (job, stdout, stderr) in polled {
                if let Ok(job) = job.parse() {
                    session.set_polled(job, Seen { stdout, stderr });
                }
            }
            let opened = self.table.add(secret, || Line::resume(session.into(), client, Outbox::after(events), idle));
            if let Err(error) = opened {
                tracing::warn!(%error, "A session did not survive the upgrade");
            }
        }
        tracing::info!(count, "Sessions of the program before go on");
    }
}

fn kept_of(line: &Line) -> Option<KeptSession> {
    let Caller::Session(id) = line.session().caller() else { return None };
    Some(KeptSession {
        secret: line.session().secret().to_owned(),
        id: id.as_str().to_owned(),
        client: line.client()?.clone(),
        events: line.outbox().names(),
        idle: line.idle().unwrap_or_default(),
        polled: line
            .session()
            .all_polled()
            .iter()
            .map(|(job, seen)| (job.to_string(), seen.stdout, seen.stderr))
            .collect(),
    })
}
