//! The end of processes: reaped, reported by the fork server, or killed.
//!
//! Rule: the end of a program's own process is the end of its exec, and of all that it left in the
//! background: a background command is an exec of its own. A session's processes end with the
//! session. On a deadline or cancel a program is interrupted first (SIGINT), then killed. A session
//! that survives the interrupt keeps its variables.

use std::time::{Duration, Instant};

use hearth_sandbox_agent::{AgentReply, End, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::Agent;
use crate::child::{ChildId, ChildKind};
use crate::kill_tree::{is_any_beside, kill_tree, kill_unowned};

/// Time for an interrupted program to end.
const INTERRUPT_GRACE: Duration = Duration::from_millis(500);
/// The same for a session, whose variables would be lost.
const SESSION_INTERRUPT_GRACE: Duration = Duration::from_secs(2);
/// A wait status of a process that was killed by SIGKILL.
const KILLED: i32 = 9;

impl Agent {
    /// Reaps all children that have ended.
    pub(super) fn reap(&mut self) {
        while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            let (pid, raw) = match status {
                WaitStatus::Exited(pid, code) => (pid, (code & 255) << 8),
                WaitStatus::Signaled(pid, signal, _) => (pid, signal as i32),
                WaitStatus::StillAlive => return,
                _ => continue,
            };
            if self.fork_server.as_ref().is_some_and(|fork_server| fork_server.pid == pid) {
                self.end_fork_server();
            }
            let dead = self.children.iter().find(|(_, child)| child.pid == Some(pid)).map(|(key, _)| *key);
            if let Some(key) = dead {
                self.ended(key, raw);
            }
        }
    }

    /// Bodies that a python was asked for and never forked.
    pub(super) fn fail_unforked(&mut self) {
        let lost: Vec<_> = self.children.iter().filter(|(_, child)| child.pid.is_none()).map(|(key, _)| *key).collect();
        lost.into_iter().for_each(|key| self.ended(key, KILLED));
    }

    /// A child's process has ended.
    pub(super) fn ended(&mut self, key: ChildId, status: i32) {
        self.drain(key);
        let Some(child) = self.children.remove(&key) else { return };
        if child.run.is_some() || child.is_session() {
            self.kill_background_processes(key, child.pid);
        }
        let signal = status & 127;
        let end = match signal {
            0 => End::Code { code: (status >> 8) as u8 },
            signal => End::Killed { signal: Signal(signal as u8) },
        };
        if let Some(mut run) = child.run {
            if let ChildKind::Session { .. } = child.kind {
                self.connection.send(&AgentReply::SessionLost { id: run.id });
            }
            run.exit(end).iter().for_each(|reply| self.connection.send(reply));
        }
        match child.kind {
            ChildKind::Spare(interpreter) => self.fail_prewarms(interpreter),
            ChildKind::Once => self.refill_soon(),
            ChildKind::Session { language, name } => {
                self.refill_soon();
                if let Some((run, text)) = child.next {
                    let id = run.id;
                    if let Err(failure) = self.run_in_session(run, language, &name, &text) {
                        self.connection.send(&AgentReply::Failed { id, failure });
                    }
                }
            }
        }
    }

    /// Kills what a child has started and not waited for.
    fn kill_background_processes(&self, key: ChildId, root: Option<Pid>) {
        let helpers: Vec<Pid> = self.fork_server.iter().map(|fork_server| fork_server.pid).collect();
        let children: Vec<(ChildId, Pid)> =
            self.children.iter().filter_map(|(key, child)| Some((*key, child.pid?))).collect();
        let known: Vec<Pid> = children.iter().map(|(_, pid)| *pid).chain(helpers.iter().copied()).collect();
        if !is_any_beside(&known) {
            return;
        }
        kill_tree(root, key);
        let is_busy =
            |key: &ChildId| self.children.get(key).is_some_and(|child| child.run.is_some() || child.is_session());
        let busy: Vec<Pid> = children.iter().filter(|(key, _)| is_busy(key)).map(|(_, pid)| *pid).collect();
        kill_unowned(&children, &busy, &helpers);
    }

    /// Ends a child's exec: interrupts it, and kills it with all its descendants if it does not end
    /// soon. A session that was interrupted is kept, with its variables.
    pub(super) fn stop(&mut self, key: ChildId) {
        let Some(child) = self.children.get_mut(&key) else { return };
        let (Some(pid), Some(run), false) = (child.pid, &mut child.run, child.being_killed) else {
            return self.kill(key);
        };
        if run.kill_at.is_some() {
            return;
        }
        let patience = match child.kind {
            ChildKind::Session { .. } => SESSION_INTERRUPT_GRACE,
            ChildKind::Once | ChildKind::Spare(_) => INTERRUPT_GRACE,
        };
        run.kill_at = Some(Instant::now() + patience);
        // It may have ended just now, which is reported separately.
        let _ = nix::sys::signal::killpg(pid, nix::sys::signal::Signal::SIGINT);
    }

    /// Kills a child's process and all its descendants. Its end is reported when it is reaped.
    pub(super) fn kill(&mut self, key: ChildId) {
        let Some(child) = self.children.get_mut(&key) else { return };
        child.being_killed = true;
        let pid = child.pid;
        let is_late = child.run.as_ref().is_some_and(|run| run.timed_out);
        kill_tree(pid, key);
        if pid.is_none() && is_late {
            // The fork server has not forked it in all this time.
            self.end_fork_server();
        }
    }
}
