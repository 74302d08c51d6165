//! A client's session, over either transport. It owns its sandboxes, which are destroyed when it ends; sessions do not see
//! each other's.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_sandbox::{Caller, JobId, SandboxId, Sandboxes, Seen, SessionId};
use tokio_util::sync::CancellationToken;

use crate::link_base::LinkBase;

/// Limit of jobs whose poll position is remembered.
const MAX_POLLED: usize = 4096;
/// The session that owns the sandboxes of stateless clients.
const SHARED: &str = "shared";

pub(crate) struct Session {
    /// Over HTTP, the id that clients send: it authorizes them for the session.
    secret: String,
    caller: Caller,
    sandboxes: Sandboxes,
    /// The base of file links; `None` if no HTTP server serves them.
    links: Option<LinkBase>,
    ending: CancellationToken,
    /// How much of each job's output the client has received.
    polled: Mutex<HashMap<JobId, Seen>>,
}

impl Session {
    pub(crate) fn new(sandboxes: Sandboxes, links: Option<LinkBase>) -> Self {
        // As random as the ids of sandboxes. The secret differs from the id that logs and lists show.
        let (secret, id) = (SandboxId::random().to_string(), SandboxId::random().to_string());
        let caller = Caller::Session(SessionId::new(id));
        Self { secret, caller, sandboxes, links, ending: CancellationToken::new(), polled: Mutex::default() }
    }

    /// The session of all clients of the protocol without sessions: these sandboxes belong to the token, and end by their idle
    /// timeout or TTL. The name is the same in the next program.
    pub(crate) fn shared(sandboxes: Sandboxes, links: Option<LinkBase>) -> Self {
        Self::resume(sandboxes, links, String::new(), SHARED.to_owned())
    }

    /// A session of the previous program, with its secret and id.
    pub(crate) fn resume(sandboxes: Sandboxes, links: Option<LinkBase>, secret: String, id: String) -> Self {
        let caller = Caller::Session(SessionId::new(id));
        Self { secret, caller, sandboxes, links, ending: CancellationToken::new(), polled: Mutex::default() }
    }

    /// Sees the sandboxes of all sessions.
    pub(crate) fn operator(sandboxes: Sandboxes) -> Self {
        let ending = CancellationToken::new();
        Self { secret: String::new(), caller: Caller::Admin, sandboxes, links: None, ending, polled: Mutex::default() }
    }

    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    pub(crate) fn caller(&self) -> Caller {
        self.caller.clone()
    }

    pub(crate) fn sandboxes(&self) -> &Sandboxes {
        &self.sandboxes
    }

    pub(crate) fn links(&self) -> Option<&LinkBase> {
        self.links.as_ref()
    }

    /// How much of a job's output the client has received.
    pub(crate) fn polled(&self, job: JobId) -> Seen {
        self.all_polled().get(&job).copied().unwrap_or_default()
    }

    pub(crate) fn set_polled(&self, job: JobId, seen: Seen) {
        let mut polled = self.all_polled();
        if polled.len() >= MAX_POLLED {
            // A session does not learn when jobs end with their sandboxes, so positions are dropped all at once.
            polled.clear();
        }
        polled.insert(job, seen);
    }

    pub(crate) fn all_polled(&self) -> MutexGuard<'_, HashMap<JobId, Seen>> {
        // No code that can panic runs under this lock.
        self.polled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancelled when the session ends.
    pub(crate) fn ending(&self) -> CancellationToken {
        self.ending.clone()
    }

    /// Cancels running calls and destroys the sandboxes. Ready when they are destroyed.
    pub(crate) async fn end(&self) {
        self.ending.cancel();
        if let Caller::Session(id) = &self.caller {
            self.sandboxes.end_session(id).await;
        }
    }
}
