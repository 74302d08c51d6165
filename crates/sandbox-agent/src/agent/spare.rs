//! Spares: interpreters that have started and wait for a program, one of each kind that was
//! requested. A spare reads its program from the beginning of its input, runs it, and ends: every
//! program has a process of its own.
//!
//! A used spare is replaced a moment after its program has ended, or when the program runs for
//! long: not while the client waits for its first output, or is about to send the next request.

use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use hearth_sandbox_agent::{CallFailure, Exec};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::chdir;

use super::Agent;
use super::exec::{HOME_FOLDER, full, invalid, zero};
use crate::child::{ChildId, ChildKind, ChildProcess, Feed};
use crate::exec_state::ExecState;
use crate::files;
use crate::fork_server::{ForkRequest, control};
use crate::interpreter::Interpreter;
use crate::interpreters::{NODE_SPARE, request, script};
use crate::kill_tree::mark;
use crate::spawn::{NotSpawned, Program};

/// After this time a running program's spare is replaced.
const LONG_RUN: Duration = Duration::from_millis(100);
/// After the end of a program the client may start the next at once, or destroy the sandbox:
/// starting a spare then would only be in the way.
const REFILL_DELAY: Duration = Duration::from_millis(5);

impl Agent {
    /// A spare, or a new one that will read its program when it has started.
    pub(super) fn spare_or_new(&mut self, interpreter: Interpreter) -> Result<ChildId, CallFailure> {
        match self.spare(interpreter) {
            Some(key) => Ok(key),
            None => self.start_spare(interpreter).map_err(|not| match not {
                NotSpawned::Program(error) => full("the interpreter", error),
                _ => invalid("the interpreter cannot be started"),
            }),
        }
    }

    fn spare(&self, interpreter: Interpreter) -> Option<ChildId> {
        let is_spare = |child: &ChildProcess| {
            child.kind == ChildKind::Spare(interpreter) && !child.being_killed && is_alive(child)
        };
        let spares = self.children.iter().filter(|(_, child)| is_spare(child));
        // A ready one is preferred to one that still starts.
        spares.max_by_key(|(_, child)| child.control.is_none()).map(|(key, _)| *key)
    }

    fn start_spare(&mut self, interpreter: Interpreter) -> Result<ChildId, NotSpawned> {
        let key = self.new_key();
        let (mut child, ends) =
            ChildProcess::new(ChildKind::Spare(interpreter), Feed::Pipe).map_err(NotSpawned::Program)?;
        let (ours, theirs) = control().ok_or(NotSpawned::Program(Errno::EMFILE))?;
        match interpreter {
            Interpreter::Python => self.fork(key, ForkRequest::Spare, &ends, theirs.as_fd())?,
            Interpreter::Node => {
                let Some(node) = self.interpreters.node.clone() else { return Err(NotSpawned::NotFound) };
                let path = script("spare.cjs", NODE_SPARE).map_err(|_| NotSpawned::Program(Errno::ENOSPC))?;
                let mut env = self.env.clone();
                env.push(mark(key));
                let fds = ends.with(theirs.as_fd());
                child.pid = Some(Program { argv: &[node, path], env: &env, cwd: "/", fds: &fds }.spawn()?);
            }
        }
        child.control = Some(ours);
        self.register_child(key, child).map_err(|_| NotSpawned::Program(Errno::ENOSPC))?;
        Ok(key)
    }

    pub(super) fn run_in_spare(
        &mut self,
        key: ChildId,
        mut run: ExecState,
        exec: Exec,
        path: &str,
    ) -> Result<(), CallFailure> {
        let cwd = exec.cwd.as_deref().unwrap_or(HOME_FOLDER);
        // A folder that cannot be entered is reported before there is a process.
        let entered = chdir(cwd).and_then(|()| chdir("/"));
        entered.map_err(|error| files::failure("cwd", &error.into()))?;
        let env = self.environment(&exec.env, key);
        let text = request(Path::new(path), cwd, &env).ok_or_else(zero)?;
        let head = [&(text.len() as u32).to_le_bytes()[..], &text].concat();
        run.stdin.begin(exec.stdin, &head);
        let Some(child) = self.children.get_mut(&key) else { return Err(invalid("the interpreter has just ended")) };
        child.kind = ChildKind::Once;
        child.run = Some(run);
        self.feed(key);
        self.refill_in(LONG_RUN);
        Ok(())
    }

    /// A child has ended: missing spares are started soon.
    pub(super) fn refill_soon(&mut self) {
        self.refill_in(REFILL_DELAY);
    }

    fn refill_in(&mut self, time: Duration) {
        if self.wanted_spares.is_empty() {
            return;
        }
        let at = Instant::now() + time;
        // Later calls do not postpone it.
        self.refill_at = Some(self.refill_at.map_or(at, |before| before.min(at)));
    }

    /// Keeps a spare of this kind from now on.
    pub(super) fn ensure_spare(&mut self, interpreter: Interpreter) -> Result<(), CallFailure> {
        if !self.wanted_spares.contains(&interpreter) {
            self.wanted_spares.push(interpreter);
        }
        self.spare_or_new(interpreter).map(drop)
    }

    /// Starts missing spares, when it is time.
    pub(super) fn refill(&mut self) {
        if self.refill_at.is_none_or(|at| at > Instant::now()) {
            return;
        }
        self.refill_at = None;
        for interpreter in self.wanted_spares.clone() {
            // One that cannot be started now is tried again after the next program.
            let _ = self.spare_or_new(interpreter);
        }
    }

    /// Ends node spares: their random state would be the same in every copy of a snapshot. A forked
    /// python draws new state when it gets a program.
    pub(super) fn discard_node_spares(&mut self) {
        for child in self.children.values_mut().filter(|child| child.kind == ChildKind::Spare(Interpreter::Node)) {
            child.being_killed = true;
            // It has no children.
            let _ = child.pid.map(|pid| kill(pid, Signal::SIGKILL));
        }
    }
}

/// Whether it has not ended, seen by the agent or not.
fn is_alive(child: &ChildProcess) -> bool {
    let Some(stdin) = &child.stdin else { return false };
    let mut fds = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
    poll(&mut fds, PollTimeout::ZERO) == Ok(0)
}
