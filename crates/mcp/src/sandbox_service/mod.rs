//! The sandbox operations, typed: one method per operation, with its request and its result. The MCP server's tools
//! (`tools/`) and the admin API both call it, so that limits, defaults and errors are the same for both.
//!
//! | file | |
//! |---|---|
//! | `sandboxes.rs` | create, update, destroy, list, get |
//! | `run.rs` | code and commands that the caller waits for |
//! | `jobs.rs` | commands that run in the background |
//! | `files.rs` | a sandbox's files, and links to them |

mod files;
mod jobs;
mod run;
mod sandboxes;

use std::sync::Arc;

use hearth_sandbox::{Sandbox, Sandboxes};

pub use files::{
    CreateFileLink, DeleteFile, DeletedFile, DirectoryListing, FileContent, FileLink, ListDirectory, MoveFile,
    MovedFile, ReadFile, WriteFileRequest, WrittenFile,
};
pub use jobs::{JobList, JobOutputView, JobSignalled, JobStarted, PollJob, SignalJob};
pub use run::{ExecuteCode, RunCommand};
pub use sandboxes::{CreateSandbox, DestroyedSandbox, SandboxList, UpdateSandbox};

use crate::error::ToolError;
use crate::session::Session;

/// The operations on the sandboxes that one caller may see: those of one session, or all of them for the operator.
#[derive(Clone)]
pub struct SandboxService {
    session: Arc<Session>,
}

impl SandboxService {
    /// For the operator: operates on the sandboxes of all sessions.
    pub fn for_operator(sandboxes: Sandboxes) -> Self {
        Self { session: Arc::new(Session::operator(sandboxes)) }
    }

    pub(crate) fn for_session(session: Arc<Session>) -> Self {
        Self { session }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// The sandbox with this id, if the caller may see it.
    fn sandbox(&self, id: &str) -> Result<Arc<Sandbox>, ToolError> {
        Ok(self.session.sandboxes().get(&self.session.caller(), id.parse()?)?)
    }
}
