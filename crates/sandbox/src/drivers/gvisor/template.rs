//! A sandbox that was started once, until its python waits for work, and checkpointed. Every
//! sandbox of its shape is restored from the checkpoint; its agent finds a new connection in place
//! of the old.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use hearth_sandbox_agent::Language;
use hearth_sandbox_spawner::SandboxSpec;
use hearth_sandbox_spawner::cgroup::SandboxCgroups;

use super::container::{Container, Running, StartFrom};
use crate::driver::RootImage;
use crate::drivers::handshake::{AgentHandshake, HandshakeError};

#[derive(Debug, thiserror::Error)]
pub(super) enum TemplateError {
    #[error("runsc cannot start or keep a sandbox: {0}")]
    Io(#[from] io::Error),
    #[error("the sandbox did not come up: {0}")]
    Agent(#[from] HandshakeError),
}

#[derive(Clone, Debug)]
pub(super) struct Template {
    /// The folder of the checkpoint.
    files: PathBuf,
}

impl Template {
    /// Starts one, and ends it again. Blocks, for a second or so.
    pub(super) fn make(
        container: Container,
        image: &RootImage,
        plan: &SandboxSpec,
        groups: SandboxCgroups,
    ) -> Result<Self, TemplateError> {
        let files = container.own.join("templates").join(&container.name);
        fs::create_dir_all(&files)?;
        let (running, agent) = container.start(image, plan, groups, &StartFrom::Scratch)?;
        let (mut handshake, languages) = AgentHandshake::begin(&agent)?;
        // Only the fork server: spares are replaced in each copy, and would only enlarge the
        // checkpoint.
        handshake.warm(languages.into_iter().filter(|language| *language == Language::Python).collect())?;
        running.checkpoint(&files)?;
        Ok(Self { files })
    }

    /// A copy, and the stream to its agent. Blocks, for a fifth of a second or so.
    pub(super) fn copy(
        &self,
        container: Container,
        image: &RootImage,
        plan: &SandboxSpec,
        groups: SandboxCgroups,
    ) -> Result<(Running, UnixStream), TemplateError> {
        let (running, agent) = container.start(image, plan, groups, &StartFrom::Checkpoint { of: &self.files })?;
        let (mut handshake, _) = AgentHandshake::begin(&agent)?;
        handshake.renew()?;
        Ok((running, agent))
    }
}
