//! How processes end: reaped, reported by the python that forked them, or killed.
//!
//! Rule: the end of a program's own process is the end of its exec, and of all that it left in the background: what is to go
//! on is a command of its own. A session's processes end with the session. What a deadline or a cancel ends is interrupted
//! first (SIGINT), then killed. A session that survives the interrupt keeps its variables.

use std::time::{Duration, Instant};

use hearth_agent::{Answer, End, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::Agent;
use crate::body::{BodyKey, Kind};
use crate::tree::{is_any_beside, kill_strangers, kill_tree};

/// How long a program that was interrupted may take to end.
const PATIENCE: Duration = Duration::from_millis(500);
/// The same for a session, of which more would be lost.
const SESSION_PATIENCE: Duration = Duration::from_secs(2);
/// A wait status of a process that was killed by SIGKILL.
const KILLED: i32 = 9;

impl Agent {
    /// Buries all that have died.
    pub(super) fn reap(&mut self) {
        while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            let (pid, raw) = match status {
                WaitStatus::Exited(pid, code) => (pid, (code & 255) << 8),
                WaitStatus::Signaled(pid, signal, _) => (pid, signal as i32),
                WaitStatus::StillAlive => return,
                _ => continue,
            };
            if self.python.as_ref().is_some_and(|python| python.pid == pid) {
                self.end_python();
            }
            let dead = self.bodies.iter().find(|(_, body)| body.pid == Some(pid)).map(|(key, _)| *key);
            if let Some(key) = dead {
                self.ended(key, raw);
            }
        }
    }

    /// Bodies that a python was asked for and never forked.
    pub(super) fn lose_unforked(&mut self) {
        let lost: Vec<_> = self.bodies.iter().filter(|(_, body)| body.pid.is_none()).map(|(key, _)| *key).collect();
        lost.into_iter().for_each(|key| self.ended(key, KILLED));
    }

    /// A body's process is no more.
    pub(super) fn ended(&mut self, key: BodyKey, status: i32) {
        self.drain(key);
        let Some(body) = self.bodies.remove(&key) else { return };
        if body.run.is_some() || body.is_session() {
            self.end_left_behind(key, body.pid);
        }
        let signal = status & 127;
        let end = match signal {
            0 => End::Code { code: (status >> 8) as u8 },
            signal => End::Killed { signal: Signal(signal as u8) },
        };
        if let Some(mut run) = body.run {
            if let Kind::Session { .. } = body.kind {
                self.connection.send(&Answer::SessionLost { id: run.id });
            }
            run.exit(end).iter().for_each(|word| self.connection.send(word));
        }
        match body.kind {
            Kind::Spare(engine) => self.tell_cold(engine),
            Kind::Once => self.refill_soon(),
            Kind::Session { language, name } => {
                self.refill_soon();
                if let Some((run, text)) = body.next {
                    let id = run.id;
                    if let Err(failure) = self.run_in_session(run, language, &name, &text) {
                        self.connection.send(&Answer::Failed { id, failure });
                    }
                }
            }
        }
    }

    /// What a body's process has started and did not wait for.
    fn end_left_behind(&self, key: BodyKey, root: Option<Pid>) {
        let helpers: Vec<Pid> = self.python.iter().map(|python| python.pid).collect();
        let bodies: Vec<(BodyKey, Pid)> =
            self.bodies.iter().filter_map(|(key, body)| Some((*key, body.pid?))).collect();
        let known: Vec<Pid> = bodies.iter().map(|(_, pid)| *pid).chain(helpers.iter().copied()).collect();
        if !is_any_beside(&known) {
            return;
        }
        kill_tree(root, key);
        let is_busy = |key: &BodyKey| self.bodies.get(key).is_some_and(|body| body.run.is_some() || body.is_session());
        let busy: Vec<Pid> = bodies.iter().filter(|(key, _)| is_busy(key)).map(|(_, pid)| *pid).collect();
        kill_strangers(&bodies, &busy, &helpers);
    }

    /// Ends what a body runs: interrupts it, and kills it with all its descendants if it goes on for a while. A session that was
    /// interrupted is kept, with its variables.
    pub(super) fn stop(&mut self, key: BodyKey) {
        let Some(body) = self.bodies.get_mut(&key) else { return };
        let (Some(pid), Some(run), false) = (body.pid, &mut body.run, body.is_doomed) else { return self.kill(key) };
        if run.kill_at.is_some() {
            return;
        }
        let patience = match body.kind {
            Kind::Session { .. } => SESSION_PATIENCE,
            Kind::Once | Kind::Spare(_) => PATIENCE,
        };
        run.kill_at = Some(Instant::now() + patience);
        // It may have ended just now, which is told by itself.
        let _ = nix::sys::signal::killpg(pid, nix::sys::signal::Signal::SIGINT);
    }

    /// Kills a body's process and all its descendants. Its end is told when it comes.
    pub(super) fn kill(&mut self, key: BodyKey) {
        let Some(body) = self.bodies.get_mut(&key) else { return };
        body.is_doomed = true;
        let pid = body.pid;
        let is_late = body.run.as_ref().is_some_and(|run| run.timed_out);
        kill_tree(pid, key);
        if pid.is_none() && is_late {
            // The python that should have forked it has not done so in all this time.
            self.end_python();
        }
    }
}
