//! Sandboxes, files and jobs as JSON for agents, the admin API and the command line.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hearth_sandbox::{FileInfo, FileKind, JobInfo, JobState, NetworkPolicy, SandboxInfo, SandboxState};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SandboxView {
    pub sandbox_id: String,
    /// ready, or lost where nothing can be done in it any more.
    pub state: &'static str,
    /// What isolates it.
    pub driver: &'static str,
    pub image: String,
    pub memory_mib: u64,
    pub vcpu_count: u16,
    /// none, full, or the hosts that it may connect to.
    pub network: String,
    /// What execute_code can run in it.
    pub languages: Vec<String>,
    /// RFC 3339.
    pub created_at: String,
    /// When it will be destroyed, used or not. RFC 3339.
    pub expires_at: String,
    /// The session that has it, or operator.
    pub owner: String,
    /// Jobs that run in it.
    pub jobs: usize,
    /// For how long it has been there.
    pub age_ms: u64,
    /// For how long it has not been used; 0 while something runs in it.
    pub idle_ms: u64,
    /// How many bytes of memory it uses, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_used: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileView {
    pub name: String,
    /// file, directory, symlink or other.
    pub kind: &'static str,
    /// In bytes.
    pub size: u64,
    /// Permissions in octal.
    pub mode: String,
    /// RFC 3339.
    pub modified_at: String,
    /// Where a symbolic link leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JobView {
    pub job_id: String,
    /// The command, shortened.
    pub title: String,
    /// running, ended or failed.
    pub state: &'static str,
}

// === impl SandboxView ===

impl SandboxView {
    pub fn new(info: &SandboxInfo) -> Self {
        let config = &info.config;
        Self {
            sandbox_id: info.id.to_string(),
            state: match info.state {
                SandboxState::Ready => "ready",
                SandboxState::Lost => "lost",
            },
            driver: info.shape.driver.0,
            image: config.image.to_string(),
            memory_mib: config.memory.bytes() / (1024 * 1024),
            vcpu_count: config.cpus,
            network: match &config.network {
                NetworkPolicy::None => "none".to_owned(),
                NetworkPolicy::AllowList(list) => list.hosts().join(", "),
                NetworkPolicy::Full => "full".to_owned(),
            },
            languages: info.languages.iter().map(ToString::to_string).collect(),
            created_at: info.created_at.to_string(),
            expires_at: info.expires_at.to_string(),
            owner: info.owner.to_string(),
            jobs: info.jobs,
            age_ms: milliseconds(info.age),
            idle_ms: milliseconds(info.idle),
            memory_used: info.usage.memory.map(|memory| memory.bytes()),
        }
    }
}

// === impl FileView ===

impl FileView {
    pub fn new(file: &FileInfo) -> Self {
        Self {
            name: file.name.clone(),
            kind: match file.kind {
                FileKind::File => "file",
                FileKind::Directory => "directory",
                FileKind::Symlink => "symlink",
                FileKind::Other => "other",
            },
            size: file.size.bytes(),
            mode: format!("{:o}", file.mode),
            modified_at: hearth_core::time::rfc3339(milliseconds(file.modified)),
            target: file.target.clone(),
        }
    }
}

// === impl JobView ===

impl JobView {
    pub fn new(job: &JobInfo) -> Self {
        Self { job_id: job.id.to_string(), title: job.title.clone(), state: job_state(&job.state) }
    }
}

pub(crate) fn job_state(state: &JobState) -> &'static str {
    match state {
        JobState::Running => "running",
        JobState::Ended(_) => "ended",
        JobState::Failed { .. } => "failed",
    }
}

pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// RFC 3339.
pub(crate) fn time(time: SystemTime) -> String {
    hearth_core::time::rfc3339(milliseconds(time.duration_since(UNIX_EPOCH).unwrap_or_default()))
}
