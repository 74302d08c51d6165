//! A client's session, over either transport: it owns sandboxes, and they go when it ends. Sessions do not see each other's.

use hearth_sandbox::{Caller, SandboxId, Sandboxes, SessionId};
use tokio_util::sync::CancellationToken;

use crate::links::LinkBase;

pub(crate) struct Session {
    /// Over HTTP, what lets a client into its session.
    secret: String,
    caller: Caller,
    sandboxes: Sandboxes,
    /// Where links to files begin, if there is anybody who serves them.
    links: Option<LinkBase>,
    ending: CancellationToken,
}

impl Session {
    pub(crate) fn new(sandboxes: Sandboxes, links: Option<LinkBase>) -> Self {
        // As random as the ids of sandboxes. What lets a client in is not what logs and lists call its session.
        let (secret, id) = (SandboxId::random().to_string(), SandboxId::random().to_string());
        let caller = Caller::Session(SessionId::new(id));
        Self { secret, caller, sandboxes, links, ending: CancellationToken::new() }
    }

    /// One of the program before, under the names that it had there.
    pub(crate) fn resume(sandboxes: Sandboxes, links: Option<LinkBase>, secret: String, id: String) -> Self {
        let caller = Caller::Session(SessionId::new(id));
        Self { secret, caller, sandboxes, links, ending: CancellationToken::new() }
    }

    /// Sees the sandboxes of all sessions.
    pub(crate) fn operator(sandboxes: Sandboxes) -> Self {
        let ending = CancellationToken::new();
        Self { secret: String::new(), caller: Caller::Admin, sandboxes, links: None, ending }
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
