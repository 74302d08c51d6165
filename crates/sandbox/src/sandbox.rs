//! One sandbox, as callers use it: commands, jobs, files. Everything goes to the agent inside; no
//! call waits for another sandbox.
//!
//! Commands run side by side. Code with a `session` runs one at a time within that session, in
//! order of arrival, since its interpreter does one thing at a time; its timeout begins with its
//! turn.

mod failure_hints;
mod request;
mod update;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hearth_sandbox_agent::{Language, Signal};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use crate::activity::{Activity, ActivityGuard};
use crate::agent::Run;
use crate::booted_sandbox::BootedSandbox;
use crate::config::SandboxConfig;
use crate::driver::{Shape, Usage};
use crate::error::SandboxError;
use crate::exec::{ExecCommand, ExecEvent, ExecRequest, ExecResult};
use crate::files::{DirectoryPage, FileInfo, PAGE_LIMIT, Remove, WriteFile};
use crate::hint::Hint;
use crate::id::{JobId, SandboxId};
use crate::job::{JobInfo, JobOutput, JobState, Seen};
use crate::jobs::Jobs;
use crate::network::NetworkPolicy;
use crate::proxy::{EgressProxies, Proxy};

/// Session locks that are kept before unused ones are dropped.
const MAX_IDLE_SESSION_LOCKS: usize = 64;

/// A sandbox. Destroyed when the last reference is dropped.
pub struct Sandbox {
    pub(crate) booted: BootedSandbox,
    /// The part that [`update`](Self::update) can change is changed here.
    config: Mutex<Arc<SandboxConfig>>,
    created: Instant,
    created_at: Timestamp,
    pub(crate) activity: Activity,
    pub(crate) jobs: Jobs,
    session_locks: SessionLocks,
    proxies: Arc<EgressProxies>,
    /// The proxy, if there is one by now.
    proxy: Mutex<Option<Proxy>>,
    /// Serializes updates.
    updating: tokio::sync::Mutex<()>,
    /// OOM kills that were already reported in a hint.
    reported_oom_kills: Arc<AtomicU64>,
}

/// One lock for each session's interpreter.
type SessionLocks = Mutex<HashMap<(Language, String), Arc<tokio::sync::Mutex<()>>>>;

/// What a sandbox is made of, for one that was just booted or comes from the previous program.
pub(crate) struct SandboxParts {
    pub(crate) booted: BootedSandbox,
    pub(crate) config: SandboxConfig,
    pub(crate) created: Instant,
    pub(crate) created_at: Timestamp,
    pub(crate) activity: Activity,
    pub(crate) jobs: Jobs,
}

/// Milliseconds since 1970, shown as RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxState {
    Ready,
    /// Its agent is gone, so it cannot be used.
    Lost,
}

/// A running command. Dropping it cancels the command.
pub struct ExecStream {
    run: Run,
    hints: failure_hints::FailureHints,
    _turn: Option<OwnedMutexGuard<()>>,
    _use: ActivityGuard,
}

// === impl Sandbox ===

impl Sandbox {
    /// On the current runtime.
    pub(crate) async fn new(
        booted: BootedSandbox,
        config: SandboxConfig,
        proxies: Arc<EgressProxies>,
    ) -> Result<Self, SandboxError> {
        let uplink = match (&config.network, booted.take_uplink()) {
            // Opened only now that it is wanted: spares and templates have no tunnel.
            (NetworkPolicy::AllowList(_), None) => Some(booted.agent().open_tunnel().await?),
            (_, uplink) => uplink,
        };
        let proxy = proxies.open(&config.network, uplink)?;
        let (created, created_at) = (Instant::now(), Timestamp(hearth_core::time::unix_millis()));
        let (activity, jobs) = (Activity::new(), Jobs::new());
        let parts = SandboxParts { booted, config, created, created_at, activity, jobs };
        Ok(Self::from_parts(parts, proxies, proxy))
    }

    pub(crate) fn from_parts(parts: SandboxParts, proxies: Arc<EgressProxies>, proxy: Option<Proxy>) -> Self {
        let SandboxParts { booted, config, created, created_at, activity, jobs } = parts;
        Self {
            booted,
            config: Mutex::new(Arc::new(config)),
            created,
            created_at,
            activity,
            jobs,
            session_locks: SessionLocks::default(),
            proxies,
            proxy: Mutex::new(proxy),
            updating: tokio::sync::Mutex::default(),
            reported_oom_kills: Arc::default(),
        }
    }

    pub fn id(&self) -> SandboxId {
        self.booted.id()
    }

    /// The current configuration.
    pub fn config(&self) -> Arc<SandboxConfig> {
        self.config.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn shape(&self) -> &Shape {
        self.booted.shape()
    }

    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }

    pub fn age(&self) -> Duration {
        self.created.elapsed()
    }

    /// How long it has been unused.
    pub fn idle(&self) -> Duration {
        self.activity.idle()
    }

    pub fn state(&self) -> SandboxState {
        if self.booted.agent().is_open() { SandboxState::Ready } else { SandboxState::Lost }
    }

    /// Languages that it can run.
    pub fn languages(&self) -> &[Language] {
        self.booted.agent().languages()
    }

    pub fn usage(&self) -> Usage {
        self.booted.usage()
    }

    /// Runs code in a fresh interpreter, with defaults for everything else.
    pub async fn execute(&self, language: Language, code: impl Into<Bytes>) -> Result<ExecResult, SandboxError> {
        self.exec(ExecRequest::code(language, code)).await
    }

    /// Runs a command to its end. Dropping the future cancels it.
    pub async fn exec(&self, request: ExecRequest) -> Result<ExecResult, SandboxError> {
        self.stream(request).await?.collect().await
    }

    /// Starts a command, and returns its events.
    pub async fn stream(&self, request: ExecRequest) -> Result<ExecStream, SandboxError> {
        let in_use = self.activity.begin();
        let session = match &request.command {
            ExecCommand::Code(code) => code.session.clone().map(|session| (code.language, session)),
            ExecCommand::Argv(_) | ExecCommand::Shell(_) => None,
        };
        let exec = self.prepare(request, request::DefaultTimeout::Command)?;
        let turn = match session {
            Some(session) => Some(self.turn(session).await?),
            None => None,
        };
        let watch = self.watch_failures();
        let run = self.booted.agent().exec(exec).await?;
        Ok(ExecStream { run, hints: watch, _turn: turn, _use: in_use })
    }

    /// Waits for the session's lock, or the end of the sandbox.
    async fn turn(&self, session: (Language, String)) -> Result<OwnedMutexGuard<()>, SandboxError> {
        let turn = {
            let mut session_locks = self.session_locks.lock().unwrap_or_else(PoisonError::into_inner);
            if session_locks.len() >= MAX_IDLE_SESSION_LOCKS {
                // Drops locks that are neither held nor waited for.
                session_locks.retain(|_, turn| Arc::strong_count(turn) > 1);
            }
            session_locks.entry(session).or_default().clone()
        };
        tokio::select! {
            turn = turn.lock_owned() => Ok(turn),
            reason = self.booted.agent().closed() => Err(reason.into()),
        }
    }

    /// Ends a session's interpreter and drops its variables. No error if there was none.
    pub async fn end_code_session(&self, language: Language, session: &str) -> Result<(), SandboxError> {
        let _use = self.activity.begin();
        self.booted.agent().end_session(language, session.to_owned()).await
    }

    /// Starts a command without waiting for it. Its default timeout is the longest there is.
    pub async fn start_job(&self, request: ExecRequest) -> Result<JobId, SandboxError> {
        let in_use = self.activity.begin();
        let title = request::title(&request.command);
        let mut exec = self.prepare(request, request::DefaultTimeout::Job)?;
        // A job's output is not truncated by the agent: the log keeps the end of it.
        exec.output_limit = u64::MAX;
        self.jobs.start(self.booted.agent(), exec, title, in_use).await
    }

    /// In the order in which they were started.
    pub fn jobs(&self) -> Vec<JobInfo> {
        self.jobs.list()
    }

    pub(crate) fn running_jobs(&self) -> usize {
        self.jobs.list().iter().filter(|job| job.state == JobState::Running).count()
    }

    /// Output of a job after `seen`. Waits at most `wait` for news.
    pub async fn poll_job(&self, id: JobId, seen: Seen, wait: Duration) -> Result<JobOutput, SandboxError> {
        let _use = self.activity.begin();
        Ok(self.jobs.get(id)?.poll(seen, wait).await)
    }

    /// Waits at most `wait` for its end.
    pub async fn wait_job(&self, id: JobId, wait: Duration) -> Result<JobState, SandboxError> {
        let _use = self.activity.begin();
        Ok(self.jobs.get(id)?.wait(wait).await)
    }

    /// Signals the job and all its processes. No effect on a job that has ended.
    pub fn signal_job(&self, id: JobId, signal: Signal) -> Result<(), SandboxError> {
        let _use = self.activity.begin();
        if !(1..=64).contains(&signal.0) {
            return Err(SandboxError::invalid("signal", format!("{} is not between 1 and 64", signal.0)));
        }
        self.jobs.get(id)?.signal(self.booted.agent(), signal);
        Ok(())
    }

    pub async fn read_file(&self, path: &str) -> Result<Bytes, SandboxError> {
        let _use = self.activity.begin();
        self.booted.agent().read_file(request::path(path)?).await
    }

    pub async fn write_file(&self, file: WriteFile) -> Result<(), SandboxError> {
        let _use = self.activity.begin();
        request::path(&file.path)?;
        if file.mode.is_some_and(|mode| mode > 0o7777) {
            return Err(SandboxError::invalid("mode", "has more than the permission bits, 0 to 07777"));
        }
        self.booted.agent().write_file(file).await
    }

    /// Entries with names after `after`, at most `limit` and at most [`PAGE_LIMIT`].
    pub async fn list_directory(
        &self,
        path: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<DirectoryPage, SandboxError> {
        let _use = self.activity.begin();
        if !(1..=PAGE_LIMIT).contains(&limit) {
            return Err(SandboxError::invalid("limit", format!("{limit} is not between 1 and {PAGE_LIMIT}")));
        }
        self.booted.agent().list(request::path(path)?, after.map(str::to_owned), limit).await
    }

    /// Links are not followed.
    pub async fn stat(&self, path: &str) -> Result<FileInfo, SandboxError> {
        let _use = self.activity.begin();
        self.booted.agent().stat(request::path(path)?).await
    }

    pub async fn remove(&self, path: &str, remove: Remove) -> Result<(), SandboxError> {
        let _use = self.activity.begin();
        self.booted.agent().remove(request::path(path)?, remove).await
    }

    /// Creates parents, too. No error if it exists.
    pub async fn make_directory(&self, path: &str) -> Result<(), SandboxError> {
        let _use = self.activity.begin();
        self.booted.agent().make_directory(request::path(path)?).await
    }

    /// What is at `to` is replaced.
    pub async fn rename(&self, from: &str, to: &str) -> Result<(), SandboxError> {
        let _use = self.activity.begin();
        self.booted.agent().rename(request::path(from)?, request::path(to)?).await
    }

    /// Ends everything in it, and resolves when nothing is left. What runs ends with [`SandboxError::Destroyed`].
    pub async fn destroy(&self) {
        self.booted.destroy().await;
    }

    /// The same without waiting.
    pub(crate) fn begin_destroying(&self) {
        self.booted.begin_destroying();
    }

    pub(crate) fn created(&self) -> Instant {
        self.created
    }

    pub(crate) fn begin_use(&self) -> ActivityGuard {
        self.activity.begin()
    }
}

// === impl ExecStream ===

impl ExecStream {
    /// The next event; there is none after [`ExecEvent::Ended`]. Cancel-safe.
    pub async fn next(&mut self) -> Result<ExecEvent, SandboxError> {
        let event = self.run.next().await?;
        self.hints.record(&event);
        Ok(event)
    }

    /// Limits of the sandbox that it ran into; complete once it has ended.
    pub fn hints(&self) -> Vec<Hint> {
        self.hints.hints()
    }

    pub fn signal(&self, signal: Signal) {
        self.run.signal(signal);
    }

    /// Waits for the end, and collects the output.
    pub async fn collect(mut self) -> Result<ExecResult, SandboxError> {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        loop {
            match self.next().await? {
                ExecEvent::Stdout(bytes) => stdout.extend_from_slice(&bytes),
                ExecEvent::Stderr(bytes) => stderr.extend_from_slice(&bytes),
                ExecEvent::Omitted(..) | ExecEvent::SessionLost => {}
                ExecEvent::Ended(end) => {
                    let result = end.with_output(stdout.into(), stderr.into());
                    return Ok(ExecResult { hints: self.hints(), ..result });
                }
            }
        }
    }
}

// === impl Timestamp ===

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hearth_core::time::rfc3339(self.0))
    }
}
