//! Sessions across an upgrade: the next program continues them under the same ids, with what `initialize` negotiated.
//!
//! Event streams end at the upgrade and clients reopen them. Their replay buffers are not handed over, but event ids of a
//! session are never reused, so that a client that resumes never gets events of another stream.

use std::time::Duration;

use hearth_sandbox::{Caller, Seen};
use rmcp::model::ClientConfig;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::handlers::SessionHandlers;
use super::message_router::{EventNumbers, MessageRouter};
use super::session_conn::HttpSession;
use crate::session::Session;

#[derive(Serialize, Deserialize)]
struct SavedSession {
    secret: String,
    id: String,
    client: ClientConfig,
    events: EventNumbers,
    idle: Duration,
    /// For each job, how much of its output the client has received.
    #[serde(default)]
    polled: Vec<(String, u64, u64)>,
}

impl SessionHandlers {
    /// Ends the listener streams (`GET`) of all sessions.
    pub(super) fn end_listeners(&self) {
        self.sessions.all().iter().for_each(|http_session| http_session.router().end_listener());
    }

    /// All sessions, for the next program; no more are opened. A session that is not initialized yet ends.
    pub(super) async fn export(&self) -> Value {
        let mut saved = Vec::new();
        for http_session in self.sessions.close() {
            match save(&http_session) {
                Some(session) => saved.push(session),
                None => http_session.end().await,
            }
        }
        serde_json::to_value(saved).unwrap_or_default()
    }

    /// Continues the sessions that the previous program exported. Sandboxes of a session that cannot be continued are
    /// destroyed by their idle timeout.
    pub(super) fn import(&self, exported: Value) {
        let all: Vec<SavedSession> = match exported {
            Value::Null => return,
            exported => serde_json::from_value(exported).unwrap_or_else(|error| {
                tracing::warn!(%error, "MCP sessions of the previous program are unreadable and end");
                Vec::new()
            }),
        };
        let count = all.len();
        for SavedSession { secret, id, client, events, idle, polled } in all {
            let session = Session::resume(self.sandboxes.clone(), Some(self.links.clone()), secret.clone(), id);
            for (job, stdout, stderr) in polled {
                if let Ok(job) = job.parse() {
                    session.set_polled(job, Seen { stdout, stderr });
                }
            }
            let opened = self.sessions.add(secret, || {
                HttpSession::resume(session.into(), client, MessageRouter::with_event_numbers(events), idle)
            });
            if let Err(error) = opened {
                tracing::warn!(%error, "MCP session lost in the upgrade");
            }
        }
        tracing::info!(count, "MCP sessions continued after the upgrade");
    }
}

fn save(http_session: &HttpSession) -> Option<SavedSession> {
    let Caller::Session(id) = http_session.session().caller() else { return None };
    Some(SavedSession {
        secret: http_session.session().secret().to_owned(),
        id: id.as_str().to_owned(),
        client: http_session.client()?.clone(),
        events: http_session.router().event_numbers(),
        idle: http_session.idle().unwrap_or_default(),
        polled: http_session
            .session()
            .all_polled()
            .iter()
            .map(|(job, seen)| (job.to_string(), seen.stdout, seen.stderr))
            .collect(),
    })
}
