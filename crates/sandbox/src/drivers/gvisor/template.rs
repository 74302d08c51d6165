//! A sandbox that was started once, brought to where its python waits for work, and written to files as it was then. Every
//! sandbox of its shape begins as a copy, whose agent finds a new connection in the place of the old.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use hearth_agent::Language;
use hearth_jail::sandbox::SandboxSpec;
use hearth_jail::sandbox::cgroup::SandboxCgroups;

use super::container::{Beginning, Container, Running};
use crate::driver::Image;
use crate::drivers::greeting::{Greeting, GreetingError};

#[derive(Debug, thiserror::Error)]
pub(super) enum TemplateError {
    #[error("runsc cannot start or keep a sandbox: {0}")]
    Io(#[from] io::Error),
    #[error("the sandbox did not come up: {0}")]
    Agent(#[from] GreetingError),
}

#[derive(Clone, Debug)]
pub(super) struct Template {
    /// The folder that it was written to.
    files: PathBuf,
}

impl Template {
    /// Starts one, and ends it again. Blocks, for a second or so.
    pub(super) fn make(
        container: Container,
        image: &Image,
        plan: &SandboxSpec,
        groups: SandboxCgroups,
    ) -> Result<Self, TemplateError> {
        let files = container.own.join("templates").join(&container.name);
        fs::create_dir_all(&files)?;
        let (running, agent) = container.start(image, plan, groups, &Beginning::Anew)?;
        let (mut greeting, languages) = Greeting::begin(&agent)?;
        // The one that forks; those that wait to be used up are replaced in each copy, and would only be carried along.
        greeting.warm(languages.into_iter().filter(|language| *language == Language::Python).collect())?;
        running.checkpoint(&files)?;
        Ok(Self { files })
    }

    /// Another sandbox like it, and the stream to its agent. Blocks, for a fifth of a second or so.
    pub(super) fn copy(
        &self,
        container: Container,
        image: &Image,
        plan: &SandboxSpec,
        groups: SandboxCgroups,
    ) -> Result<(Running, UnixStream), TemplateError> {
        let (running, agent) = container.start(image, plan, groups, &Beginning::Copy { of: &self.files })?;
        let (mut greeting, _) = Greeting::begin(&agent)?;
        greeting.renew()?;
        Ok((running, agent))
    }
}
