//! The jobs of one sandbox. What they write goes from the agent's reader straight into their logs, which keep the last of
//! each stream; nobody has to read for a job to go on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use hearth_agent::{Answer, CallId, Exec, Signal, Stream};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::activity::{Activity, Use};
use crate::agent::{Agent, Closed, Receive, ended};
use crate::error::SandboxError;
use crate::exec::ExecEnd;
use crate::heritage::{KeptJob, KeptState};
use crate::id::JobId;
use crate::job::{JobInfo, JobOutput, JobState, Seen};
use crate::tail::Tail;

/// Jobs of one sandbox that are known, running or ended. The oldest that has ended makes room for a new one.
const MOST: usize = 32;

pub(crate) struct Jobs {
    /// In the order in which they were started.
    all: Mutex<VecDeque<Arc<Job>>>,
}

/// A job's call, and where its answers go.
type RunningCall = (CallId, Box<dyn Receive>);

pub(crate) struct Job {
    id: JobId,
    title: String,
    call: OnceLock<CallId>,
    log: Mutex<Log>,
    changed: Notify,
}

struct Log {
    state: JobState,
    stdout: Tail,
    stderr: Tail,
    /// Until it ends.
    in_use: Option<Use>,
    audience: Audience,
}

/// Those who wait for something new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Audience {
    #[default]
    Waits,
    /// Another program is about to go on with it: whoever asks is told what there is.
    Leaves,
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
        in_use: Use,
    ) -> Result<JobId, SandboxError> {
        let job = Arc::new(Job::new(title, in_use));
        self.admit(job.clone())?;
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

    fn admit(&self, job: Arc<Job>) -> Result<(), SandboxError> {
        let mut all = self.lock();
        if all.len() >= MOST {
            let ended = all.iter().position(|job| job.state() != JobState::Running);
            let ended = ended.ok_or(SandboxError::TooMany { what: "jobs", limit: MOST })?;
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

    /// Nobody waits for news any more.
    pub(crate) fn hurry(&self) {
        for job in self.lock().iter() {
            job.lock().audience = Audience::Leaves;
            job.changed.notify_waiters();
        }
    }

    /// How many run; `None` while one is only just being started.
    pub(crate) fn running(&self) -> Option<usize> {
        let all = self.lock();
        let running = || all.iter().filter(|job| job.state() == JobState::Running);
        running().all(|job| job.call.get().is_some()).then(|| running().count())
    }

    /// Under which the agent speaks of those that run.
    pub(crate) fn calls(&self) -> Vec<CallId> {
        self.lock().iter().filter_map(|job| job.call.get().copied()).collect()
    }

    /// For the next program. The agent must have stopped speaking.
    pub(crate) fn leave(&self) -> Vec<KeptJob> {
        self.lock().iter().map(|job| job.leave()).collect()
    }

    /// Those of the program before, and the calls of those that run.
    pub(crate) fn resume(kept: Vec<KeptJob>, activity: &Activity) -> Result<(Self, Vec<RunningCall>), SandboxError> {
        let (mut all, mut calls) = (VecDeque::new(), Vec::new());
        for one in kept {
            let job = Arc::new(Job::resume(one, activity)?);
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
    fn new(title: String, in_use: Use) -> Self {
        let (stdout, stderr, audience) = (Tail::new(), Tail::new(), Audience::default());
        let log = Log { state: JobState::Running, stdout, stderr, in_use: Some(in_use), audience };
        Self { id: JobId::random(), title, call: OnceLock::new(), log: Mutex::new(log), changed: Notify::new() }
    }

    fn resume(kept: KeptJob, activity: &Activity) -> Result<Self, SandboxError> {
        let KeptJob { id, title, call, state, stdout, stderr } = kept;
        let state = match state {
            KeptState::Running if call.is_some() => JobState::Running,
            KeptState::Running => JobState::Failed { reason: "it was not started".to_owned() },
            KeptState::Failed { reason } => JobState::Failed { reason },
            KeptState::Ended { exit_code, signal, truncated, timed_out, duration } => {
                JobState::Ended(ExecEnd { exit_code, signal, truncated, timed_out, duration })
            }
        };
        let in_use = (state == JobState::Running).then(|| activity.begin());
        let (stdout, stderr, audience) = (Tail::resume(stdout), Tail::resume(stderr), Audience::default());
        let log = Mutex::new(Log { state, stdout, stderr, in_use, audience });
        let call = call.map_or_else(OnceLock::new, |call| CallId(call).into());
        Ok(Self { id: id.parse()?, title, call, log, changed: Notify::new() })
    }

    fn leave(&self) -> KeptJob {
        let log = self.lock();
        KeptJob {
            id: self.id.to_string(),
            title: self.title.clone(),
            call: self.call.get().map(|call| call.0),
            state: match &log.state {
                JobState::Running => KeptState::Running,
                JobState::Failed { reason } => KeptState::Failed { reason: reason.clone() },
                JobState::Ended(ExecEnd { exit_code, signal, truncated, timed_out, duration }) => KeptState::Ended {
                    exit_code: *exit_code,
                    signal: *signal,
                    truncated: *truncated,
                    timed_out: *timed_out,
                    duration: *duration,
                },
            },
            stdout: log.stdout.leave(),
            stderr: log.stderr.leave(),
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
        // Without a call it is not begun yet, and whoever knows its id has it from its beginning.
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

    /// Until the condition is met, or the time is over.
    async fn until(&self, wait: Duration, condition: impl Fn(&Log) -> bool) {
        let deadline = Instant::now() + wait;
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Listen first, look then: it may change in between.
            changed.as_mut().enable();
            let is_over = |log: &Log| log.audience == Audience::Leaves || condition(log);
            if is_over(&self.lock()) || timeout_at(deadline, changed).await.is_err() {
                return;
            }
        }
    }
}

// === impl Sink ===

impl Receive for Sink {
    fn receive(&mut self, answer: Answer) {
        match answer {
            Answer::Output { stream, bytes, .. } => {
                let mut log = self.0.lock();
                match stream {
                    Stream::Stdout => log.stdout.push(&bytes.0),
                    Stream::Stderr => log.stderr.push(&bytes.0),
                }
                drop(log);
                self.0.changed.notify_waiters();
            }
            Answer::Exit { end, timed_out, truncated, duration, .. } => {
                self.0.end(JobState::Ended(ended(end, timed_out, truncated, duration)));
            }
            Answer::Failed { failure, .. } => self.0.end(JobState::Failed { reason: failure.message }),
            // Says nothing about a job.
            _ => {}
        }
    }

    fn lost(&mut self, reason: &Closed) {
        let reason = SandboxError::from(reason.clone()).to_string();
        self.0.end(JobState::Failed { reason });
    }
}

impl Drop for Sink {
    /// A call that was never sent has no end of its own.
    fn drop(&mut self) {
        if self.0.state() == JobState::Running {
            self.0.end(JobState::Failed { reason: "it was not started".to_owned() });
        }
    }
}
