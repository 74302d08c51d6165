//! The jobs of one sandbox. Their output goes from the task that reads the agent's stream straight
//! into their logs, which keep the end of each stream; a job runs on whether its output is read or
//! not.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use hearth_sandbox_agent::{AgentCallId, AgentReply, Exec, OutputStream, Signal};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::activity::{Activity, ActivityGuard};
use crate::agent::{Agent, Closed, Receive, ended};
use crate::error::SandboxError;
use crate::exec::ExecEnd;
use crate::id::JobId;
use crate::job::{JobInfo, JobOutput, JobState, Seen};
use crate::tail::Tail;
use crate::upgrade::{SavedJob, SavedState};

/// Jobs of one sandbox that are kept, running or ended. The oldest ended one makes room for a new
/// one.
const MAX_JOBS: usize = 32;

pub(crate) struct Jobs {
    /// In the order in which they were started.
    all: Mutex<VecDeque<Arc<Job>>>,
}

/// A job's call, and where its answers go.
type RunningCall = (AgentCallId, Box<dyn Receive>);

pub(crate) struct Job {
    id: JobId,
    title: String,
    call: OnceLock<AgentCallId>,
    log: Mutex<Log>,
    changed: Notify,
}

struct Log {
    state: JobState,
    stdout: Tail,
    stderr: Tail,
    /// Until it ends.
    in_use: Option<ActivityGuard>,
    waiters: Waiters,
}

/// Whether polls wait for news.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Waiters {
    #[default]
    Wait,
    /// An export is about to begin: polls return at once with what there is.
    ReturnNow,
}

struct Sink(Arc<Job>);

// === impl Jobs ===

impl Jobs {
    pub(crate) fn new() -> Self {
        Self { all: Mutex::new(VecDeque::new()) }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Job>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn start(
        &self,
        agent: &Agent,
        exec: Exec,
        title: String,
        in_use: ActivityGuard,
    ) -> Result<JobId, SandboxError> {
        let job = Arc::new(Job::new(title, in_use));
        self.insert(job.clone())?;
        match agent.exec_into(exec, Box::new(Sink(job.clone()))).await {
            Ok(call) => {
                job.call.set(call).expect("a job is started once");
                Ok(job.id)
            }
            Err(error) => {
                self.lock().retain(|other| other.id != job.id);
                Err(error)
            }
        }
    }

    fn insert(&self, job: Arc<Job>) -> Result<(), SandboxError> {
        let mut all = self.lock();
        if all.len() >= MAX_JOBS {
            let ended = all.iter().position(|job| job.state() != JobState::Running);
            let ended = ended.ok_or(SandboxError::TooMany { what: "jobs", limit: MAX_JOBS })?;
            all.remove(ended);
        }
        all.push_back(job);
        Ok(())
    }

    pub(crate) fn get(&self, id: JobId) -> Result<Arc<Job>, SandboxError> {
        self.lock().iter().find(|job| job.id == id).cloned().ok_or(SandboxError::NoJob(id))
    }

    pub(crate) fn list(&self) -> Vec<JobInfo> {
        self.lock().iter().map(|job| job.info()).collect()
    }

    /// Polls return at once from now on.
    pub(crate) fn wake_pollers(&self) {
        for job in self.lock().iter() {
            job.lock().waiters = Waiters::ReturnNow;
            job.changed.notify_waiters();
        }
    }

    /// The number of running jobs; `None` while one is just being started.
    pub(crate) fn running(&self) -> Option<usize> {
        let all = self.lock();
        let running = || all.iter().filter(|job| job.state() == JobState::Running);
        running().all(|job| job.call.get().is_some()).then(|| running().count())
    }

    /// Call ids of the jobs.
    pub(crate) fn calls(&self) -> Vec<AgentCallId> {
        self.lock().iter().filter_map(|job| job.call.get().copied()).collect()
    }

    /// For the next program. The agent's stream must have been exported already.
    pub(crate) fn export(&self) -> Vec<SavedJob> {
        self.lock().iter().map(|job| job.export()).collect()
    }

    /// The jobs of the previous program, and the calls of those that run.
    pub(crate) fn import(saved: Vec<SavedJob>, activity: &Activity) -> Result<(Self, Vec<RunningCall>), SandboxError> {
        let (mut all, mut calls) = (VecDeque::new(), Vec::new());
        for one in saved {
            let job = Arc::new(Job::import(one, activity)?);
            if let (JobState::Running, Some(call)) = (job.state(), job.call.get()) {
                calls.push((*call, Box::new(Sink(job.clone())) as Box<dyn Receive>));
            }
            all.push_back(job);
        }
        Ok((Self { all: Mutex::new(all) }, calls))
    }
}

// === impl Job ===

impl Job {
    fn new(title: String, in_use: ActivityGuard) -> Self {
        let (stdout, stderr, waiters) = (Tail::new(), Tail::new(), Waiters::default());
        let log = Log { state: JobState::Running, stdout, stderr, in_use: Some(in_use), waiters };
        Self { id: JobId::random(), title, call: OnceLock::new(), log: Mutex::new(log), changed: Notify::new() }
    }

    fn import(saved: SavedJob, activity: &Activity) -> Result<Self, SandboxError> {
        let SavedJob { id, title, call, state, stdout, stderr } = saved;
        let state = match state {
            SavedState::Running if call.is_some() => JobState::Running,
            SavedState::Running => JobState::Failed { reason: "it was not started".to_owned() },
            SavedState::Failed { reason } => JobState::Failed { reason },
            SavedState::Ended { exit_code, signal, truncated, timed_out, duration } => {
                JobState::Ended(ExecEnd { exit_code, signal, truncated, timed_out, duration })
            }
        };
        let in_use = (state == JobState::Running).then(|| activity.begin());
        let (stdout, stderr, waiters) = (Tail::import(stdout), Tail::import(stderr), Waiters::default());
        let log = Mutex::new(Log { state, stdout, stderr, in_use, waiters });
        let call = call.map_or_else(OnceLock::new, |call| AgentCallId(call).into());
        Ok(Self { id: id.parse()?, title, call, log, changed: Notify::new() })
    }

    fn export(&self) -> SavedJob {
        let log = self.lock();
        SavedJob {
            id: self.id.to_string(),
            title: self.title.clone(),
            call: self.call.get().map(|call| call.0),
            state: match &log.state {
                JobState::Running => SavedState::Running,
                JobState::Failed { reason } => SavedState::Failed { reason: reason.clone() },
                JobState::Ended(ExecEnd { exit_code, signal, truncated, timed_out, duration }) => SavedState::Ended {
                    exit_code: *exit_code,
                    signal: *signal,
                    truncated: *truncated,
                    timed_out: *timed_out,
                    duration: *duration,
                },
            },
            stdout: log.stdout.export(),
            stderr: log.stderr.export(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> JobState {
        self.lock().state.clone()
    }

    fn info(&self) -> JobInfo {
        JobInfo { id: self.id, title: self.title.clone(), state: self.state() }
    }

    fn end(&self, state: JobState) {
        let mut log = self.lock();
        log.state = state;
        log.in_use = None;
        drop(log);
        self.changed.notify_waiters();
    }

    pub(crate) fn signal(&self, agent: &Agent, signal: Signal) {
        // A job without a call has not been started, and its id is not known to callers yet.
        if let Some(call) = self.call.get() {
            agent.signal(*call, signal);
        }
    }

    pub(crate) async fn poll(&self, seen: Seen, wait: Duration) -> JobOutput {
        let news = |log: &Log| {
            log.state != JobState::Running || log.stdout.end() > seen.stdout || log.stderr.end() > seen.stderr
        };
        self.until(wait, news).await;
        let log = self.lock();
        let (stdout, missed_stdout) = log.stdout.since(seen.stdout);
        let (stderr, missed_stderr) = log.stderr.since(seen.stderr);
        JobOutput {
            state: log.state.clone(),
            stdout,
            stderr,
            seen: Seen { stdout: log.stdout.end(), stderr: log.stderr.end() },
            missed: missed_stdout + missed_stderr,
        }
    }

    pub(crate) async fn wait(&self, wait: Duration) -> JobState {
        self.until(wait, |log| log.state != JobState::Running).await;
        self.state()
    }

    /// Resolves when the condition is met, or after `wait`.
    async fn until(&self, wait: Duration, condition: impl Fn(&Log) -> bool) {
        let deadline = Instant::now() + wait;
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Registered before the check: it may change in between.
            changed.as_mut().enable();
            let is_done = |log: &Log| log.waiters == Waiters::ReturnNow || condition(log);
            if is_done(&self.lock()) || timeout_at(deadline, changed).await.is_err() {
                return;
            }
        }
    }
}

// === impl Sink ===

impl Receive for Sink {
    fn receive(&mut self, answer: AgentReply) {
        match answer {
            AgentReply::Output { stream, bytes, .. } => {
                let mut log = self.0.lock();
                match stream {
                    OutputStream::Stdout => log.stdout.push(&bytes.0),
                    OutputStream::Stderr => log.stderr.push(&bytes.0),
                }
                drop(log);
                self.0.changed.notify_waiters();
            }
            AgentReply::Exit { end, timed_out, truncated, duration, .. } => {
                self.0.end(JobState::Ended(ended(end, timed_out, truncated, duration)));
            }
            AgentReply::Failed { failure, .. } => self.0.end(JobState::Failed { reason: failure.message }),
            // Other answers do not concern a job.
            _ => {}
        }
    }

    fn lost(&mut self, reason: &Closed) {
        let reason = SandboxError::from(reason.clone()).to_string();
        self.0.end(JobState::Failed { reason });
    }
}

impl Drop for Sink {
    /// A call that was never sent gets no last answer.
    fn drop(&mut self) {
        if self.0.state() == JobState::Running {
            self.0.end(JobState::Failed { reason: "it was not started".to_owned() });
        }
    }
}
