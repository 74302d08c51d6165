//! A client's session, over either transport: it owns sandboxes, and they go when it ends. Sessions do not see each other's.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_sandbox::{Caller, JobId, SandboxId, Sandboxes, Seen, SessionId};
use tokio_util::sync::CancellationToken;

use crate::links::LinkBase;

/// Jobs of which it is known what was given.
const MAX_POLLED: usize = 4096;
/// Owns what clients without a session make.
const SHARED: &str = "shared";

pub(crate) struct Session {
    /// Over HTTP, what lets a client into its session.
    secret: String,
    caller: Caller,
    sandboxes: Sandboxes,
    /// Where links to files begin, if there is anybody who serves them.
    links: Option<LinkBase>,
    ending: CancellationToken,
    /// How much of each job's output its client has been given.
    polled: Mutex<HashMap<JobId, Seen>>,
}

impl Session {
    pub(crate) fn new(sandboxes: Sandboxes, links: Option<LinkBase>) -> Self {
        // As random as the ids of sandboxes. What lets a client in is not what logs and lists call its session.
        let (secret, id) = (SandboxId::random().to_string(), SandboxId::random().to_string());
        let caller = Caller::Session(SessionId::new(id));
        Self { secret, caller, sandboxes, links, ending: CancellationToken::new(), polled: Mutex::default() }
    }

    /// Of all clients of the protocol without sessions: whoever has the token owns these sandboxes, which go when they are
    /// idle or their time is over. The name is the same in the next program.
    pub(crate) fn shared(sandboxes: Sandboxes, links: Option<LinkBase>) -> Self {
        Self::resume(sandboxes, links, String::new(), SHARED.to_owned())
    }

    /// One of the program before, under the names that it had there.
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

    /// How much of a job's output the client has been given.
    pub(crate) fn polled(&self, job: JobId) -> Seen {
        self.all_polled().get(&job).copied().unwrap_or_default()
    }

    pub(crate) fn set_polled(&self, job: JobId, seen: Seen) {
        let mut polled = self.all_polled();
        if polled.len() >= MAX_POLLED {
            // Jobs go with their sandboxes, which is not told here.
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

    /// Ends what runs, and destroys the sandboxes. Ready when they are gone.
    pub(crate) async fn end(&self) {
        self.ending.cancel();
        if let Caller::Session(id) = &self.caller {
            self.sandboxes.end_session(id).await;
        }
    }
}
