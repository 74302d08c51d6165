//! One sandbox, as its users see it: commands, jobs, files. Everything goes to the agent inside; nothing here waits for
//! another sandbox.
//!
//! Commands run side by side. Code with a `session` takes turns within that session, in the order in which it came, since
//! its interpreter does one thing at a time; its deadline counts from its turn.

mod ended;
mod heritage;
mod request;
mod update;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hearth_agent::{Language, Signal};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use crate::activity::{Activity, Use};
use crate::agent::Run;
use crate::config::SandboxConfig;
use crate::driver::{Shape, Usage};
use crate::error::SandboxError;
use crate::exec::{Command, ExecEvent, ExecRequest, ExecResult};
use crate::files::{FileInfo, PAGE_LIMIT, Page, Remove, WriteFile};
use crate::hint::Hint;
use crate::id::{JobId, SandboxId};
use crate::job::{JobInfo, JobOutput, JobState, Seen};
use crate::jobs::Jobs;
use crate::network::NetworkPolicy;
use crate::proxy::{Exits, Proxy};
use crate::unit::Unit;

pub(crate) use heritage::Resumed;

/// Sessions whose turns are remembered before those that nobody uses are forgotten.
const REMEMBERED: usize = 64;

/// A place where code runs. When the last who has it lets go, it is destroyed.
pub struct Sandbox {
    unit: Unit,
    /// What can be changed later is changed here.
    config: Mutex<Arc<SandboxConfig>>,
    created: Instant,
    created_at: Timestamp,
    activity: Activity,
    jobs: Jobs,
    turns: Turns,
    exits: Arc<Exits>,
    /// The way out, if there is one by now.
    proxy: Mutex<Option<Proxy>>,
    /// One change after the other.
    updating: tokio::sync::Mutex<()>,
    /// Processes that were killed for want of memory, as far as that was told.
    killed: Arc<AtomicU64>,
}

/// Who may use a session's interpreter next.
type Turns = Mutex<HashMap<(Language, String), Arc<tokio::sync::Mutex<()>>>>;

/// Milliseconds since 1970, shown as RFC 3339 in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxState {
    Ready,
    /// It is of no use any more: its agent is gone.
    Lost,
}

/// A command that runs. Dropping it cancels the command.
pub struct ExecStream {
    run: Run,
    ended: ended::Watch,
    _turn: Option<OwnedMutexGuard<()>>,
    _use: Use,
}

// === impl Sandbox ===

impl Sandbox {
    /// On the current runtime.
    pub(crate) async fn new(unit: Unit, config: SandboxConfig, exits: Arc<Exits>) -> Result<Self, SandboxError> {
        let uplink = match (&config.network, unit.take_uplink()) {
            // Not before it is known to be wanted: what is ready, or a template of others, has no door.
            (NetworkPolicy::AllowList(_), None) => Some(unit.agent().open_tunnel().await?),
            (_, uplink) => uplink,
        };
        let proxy = exits.open(&config.network, uplink)?;
        Ok(Self {
            unit,
            config: Mutex::new(Arc::new(config)),
            created: Instant::now(),
            created_at: Timestamp(hearth_core::time::unix_millis()),
            activity: Activity::new(),
            jobs: Jobs::new(),
            turns: Turns::default(),
            exits,
            proxy: Mutex::new(proxy),
            updating: tokio::sync::Mutex::default(),
            killed: Arc::default(),
        })
    }

    pub fn id(&self) -> SandboxId {
        self.unit.id()
    }

    /// As it is now.
    pub fn config(&self) -> Arc<SandboxConfig> {
        self.config.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn shape(&self) -> &Shape {
        self.unit.shape()
    }

    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }

    pub fn age(&self) -> Duration {
        self.created.elapsed()
    }

    /// How long nothing has run in it that somebody asked for.
    pub fn idle(&self) -> Duration {
        self.activity.idle()
    }

    pub fn state(&self) -> SandboxState {
        if self.unit.agent().is_open() { SandboxState::Ready } else { SandboxState::Lost }
    }

    /// What it can run.
    pub fn languages(&self) -> &[Language] {
        self.unit.agent().languages()
    }

    pub fn usage(&self) -> Usage {
        self.unit.usage()
    }

    /// Code in a fresh interpreter, with everything else as it is by default.
    pub async fn execute(&self, language: Language, code: impl Into<Bytes>) -> Result<ExecResult, SandboxError> {
        self.exec(ExecRequest::code(language, code)).await
    }

    /// Runs a command to its end. Dropping the future cancels it.
    pub async fn exec(&self, request: ExecRequest) -> Result<ExecResult, SandboxError> {
        self.stream(request).await?.collect().await
    }

    /// Starts a command, and shows what it does as it does it.
    pub async fn stream(&self, request: ExecRequest) -> Result<ExecStream, SandboxError> {
        let in_use = self.activity.begin();
        let session = match &request.command {
            Command::Code(code) => code.session.clone().map(|session| (code.language, session)),
            Command::Argv(_) | Command::Shell(_) => None,
        };
        let exec = self.prepare(request, request::Default::Command)?;
        let turn = match session {
            Some(session) => Some(self.turn(session).await?),
            None => None,
        };
        let watch = self.watch_end();
        let run = self.unit.agent().exec(exec).await?;
        Ok(ExecStream { run, ended: watch, _turn: turn, _use: in_use })
    }

    /// Waits until nobody before uses the session, or the sandbox ends.
    async fn turn(&self, session: (Language, String)) -> Result<OwnedMutexGuard<()>, SandboxError> {
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            if turns.len() >= REMEMBERED {
                // Nobody has its turn or waits for it.
                turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            }
            turns.entry(session).or_default().clone()
        };
        tokio::select! {
            turn = turn.lock_owned() => Ok(turn),
            reason = self.unit.agent().closed() => Err(reason.into()),
        }
    }

    /// Ends a session's interpreter: what it kept is forgotten. It is no error if there was none.
    pub async fn end_code_session(&self, language: Language, session: &str) -> Result<(), SandboxError> {
        let _use = self.activity.begin();
        self.unit.agent().end_session(language, session.to_owned()).await
    }

    /// Starts a command that nobody waits for. Its deadline, if it has none of its own, is the latest there is.
    pub async fn start_job(&self, request: ExecRequest) -> Result<JobId, SandboxError> {
        let in_use = self.activity.begin();
        let title = request::title(&request.command);
        let mut exec = self.prepare(request, request::Default::Job)?;
        // A job's output is not cut: the last of it is kept.
        exec.output_limit = u64::MAX;
        self.jobs.start(self.unit.agent(), exec, title, in_use).await
    }

    /// In the order in which they were started.
    pub fn jobs(&self) -> Vec<JobInfo> {
        self.jobs.list()
    }

    pub(crate) fn running_jobs(&self) -> usize {
        self.jobs.list().iter().filter(|job| job.state == JobState::Running).count()
    }

    /// What a job wrote after what was seen of it. Waits at most this long for something new.
    pub async fn poll_job(&self, id: JobId, seen: Seen, wait: Duration) -> Result<JobOutput, SandboxError> {
        let _use = self.activity.begin();
        Ok(self.jobs.get(id)?.poll(seen, wait).await)
    }

    /// Waits at most this long for its end.
    pub async fn wait_job(&self, id: JobId, wait: Duration) -> Result<JobState, SandboxError> {
        let _use = self.activity.begin();
        Ok(self.jobs.get(id)?.wait(wait).await)
    }

    /// To the job and all its processes. A job that has ended does not mind.
    pub fn signal_job(&self, id: JobId, signal: Signal) -> Result<(), SandboxError> {
        let _use = self.activity.begin();
        if !(1..=64).contains(&signal.0) {
            return Err(SandboxError::invalid("signal", format!("{} is not between 1 and 64", signal.0)));
        }
        self.jobs.get(id)?.signal(self.unit.agent(), signal);
        Ok(())
    }

    pub async fn read_file(&self, path: &str) -> Result<Bytes, SandboxError> {
        let _use = self.activity.begin();
        self.unit.agent().read_file(request::path(path)?).await
    }

    pub async fn write_file(&self, file: WriteFile) -> Result<(), SandboxError> {
        let _use = self.activity.begin();
        request::path(&file.path)?;
        if file.mode.is_some_and(|mode| mode > 0o7777) {
            return Err(SandboxError::invalid("mode", "has more than the permission bits, 0 to 07777"));
        }
        self.unit.agent().write_file(file).await
    }

    /// Entries with names after `after`, at most `limit` and at most [`PAGE_LIMIT`].
    pub async fn list_directory(&self, path: &str, after: Option<&str>, limit: usize) -> Result<Page, SandboxError> {
        let _use = self.activity.begin();
        if !(1..=PAGE_LIMIT).contains(&limit) {
            return Err(SandboxError::invalid("limit", format!("{limit} is not between 1 and {PAGE_LIMIT}")));
        }
        self.unit.agent().list(request::path(path)?, after.map(str::to_owned), limit).await
    }

    /// Links are not followed.
    pub async fn stat(&self, path: &str) -> Result<FileInfo, SandboxError> {
        let _use = self.activity.begin();
        self.unit.agent().stat(request::path(path)?).await
    }

    pub async fn remove(&self, path: &str, remove: Remove) -> Result<(), SandboxError> {
        let _use = self.activity.begin();
        self.unit.agent().remove(request::path(path)?, remove).await
    }

    /// With those above it. It is no error if it is there.
    pub async fn make_directory(&self, path: &str) -> Result<(), SandboxError> {
        let _use = self.activity.begin();
        self.unit.agent().make_directory(request::path(path)?).await
    }

    /// What is at `to` is replaced.
    pub async fn rename(&self, from: &str, to: &str) -> Result<(), SandboxError> {
        let _use = self.activity.begin();
        self.unit.agent().rename(request::path(from)?, request::path(to)?).await
    }

    /// Ends everything in it, and resolves when nothing is left. What runs ends with [`SandboxError::Destroyed`].
    pub async fn destroy(&self) {
        self.unit.destroy().await;
    }

    /// The same without waiting.
    pub(crate) fn begin_destroying(&self) {
        self.unit.begin_destroying();
    }

    pub(crate) fn created(&self) -> Instant {
        self.created
    }

    pub(crate) fn begin_use(&self) -> Use {
        self.activity.begin()
    }
}

// === impl ExecStream ===

impl ExecStream {
    /// What it does next; after [`ExecEvent::Ended`] there is nothing more to ask for. May be dropped and asked again.
    pub async fn next(&mut self) -> Result<ExecEvent, SandboxError> {
        let event = self.run.next().await?;
        self.ended.see(&event);
        Ok(event)
    }

    /// What its sandbox did not give it, as far as is known when it has ended.
    pub fn hints(&self) -> Vec<Hint> {
        self.ended.hints()
    }

    pub fn signal(&self, signal: Signal) {
        self.run.signal(signal);
    }

    /// Waits for the end, and keeps what is written until then.
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
