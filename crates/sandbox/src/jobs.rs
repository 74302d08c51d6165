//! The jobs of one sandbox. What they write goes from the agent's reader straight into their logs, which keep the last of
//! each stream; nobody has to read for a job to go on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use hearth_agent::{Answer, CallId, Exec, Signal, Stream};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::activity::Use;
use crate::agent::{Agent, Closed, Receive, ended};
use crate::error::SandboxError;
use crate::id::JobId;
use crate::job::{JobInfo, JobOutput, JobState, Seen};
use crate::tail::Tail;

/// Jobs of one sandbox that are known, running or ended. The oldest that has ended makes room for a new one.
const MOST: usize = 32;

pub(crate) struct Jobs {
    /// In the order in which they were started.
    all: Mutex<VecDeque<Arc<Job>>>,
}

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
}

// === impl Job ===

impl Job {
    fn new(title: String, in_use: Use) -> Self {
        let log = Log { state: JobState::Running, stdout: Tail::new(), stderr: Tail::new(), in_use: Some(in_use) };
        Self { id: JobId::random(), title, call: OnceLock::new(), log: Mutex::new(log), changed: Notify::new() }
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
            if condition(&self.lock()) || timeout_at(deadline, changed).await.is_err() {
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
