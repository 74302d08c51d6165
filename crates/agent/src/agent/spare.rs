//! Interpreters that have started and wait for a program, one of each engine that was asked for. A spare is told what to run at
//! the beginning of its input, runs that, and is gone: every program has a process of its own.
//!
//! A spare that was used is replaced a moment after its program has ended, or when that goes on for long: not while somebody
//! waits for its first output, or is about to ask for the next thing.

use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use hearth_agent::{Exec, Failure};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::chdir;

use super::Agent;
use super::exec::{HOME_FOLDER, full, invalid, zero};
use crate::body::{Body, BodyKey, Feed, Kind};
use crate::engine::Engine;
use crate::files;
use crate::interpreters::{NODE_SPARE, request, script};
use crate::python::{Fork, control};
use crate::run::Run;
use crate::spawn::{NotSpawned, Program};
use crate::tree::mark;

/// A program that runs for longer does not keep the next from finding a spare.
const LONG: Duration = Duration::from_millis(100);
/// Who ends a program may start the next at once, or destroy the sandbox: then a start would only be in the way.
const BREATH: Duration = Duration::from_millis(5);

impl Agent {
    /// One that waits, or one that is started for this and will read what it is told when it can.
    pub(super) fn spare_or_new(&mut self, engine: Engine) -> Result<BodyKey, Failure> {
        match self.spare(engine) {
            Some(key) => Ok(key),
            None => self.start_spare(engine).map_err(|not| match not {
                NotSpawned::Program(error) => full("the interpreter", error),
                _ => invalid("the interpreter cannot be started"),
            }),
        }
    }

    fn spare(&self, engine: Engine) -> Option<BodyKey> {
        let is_spare = |body: &Body| body.kind == Kind::Spare(engine) && !body.is_doomed && is_heard(body);
        let spares = self.bodies.iter().filter(|(_, body)| is_spare(body));
        // One that is ready rather than one that still starts.
        spares.max_by_key(|(_, body)| body.control.is_none()).map(|(key, _)| *key)
    }

    fn start_spare(&mut self, engine: Engine) -> Result<BodyKey, NotSpawned> {
        let key = self.new_key();
        let (mut body, ends) = Body::new(Kind::Spare(engine), Feed::Pipe).map_err(NotSpawned::Program)?;
        let (ours, theirs) = control().ok_or(NotSpawned::Program(Errno::EMFILE))?;
        match engine {
            Engine::Python => self.fork(key, Fork::Spare, &ends, theirs.as_fd())?,
            Engine::Node => {
                let Some(node) = self.interpreters.node.clone() else { return Err(NotSpawned::NotFound) };
                let path = script("spare.cjs", NODE_SPARE).map_err(|_| NotSpawned::Program(Errno::ENOSPC))?;
                let mut env = self.env.clone();
                env.push(mark(key));
                let fds = ends.with(theirs.as_fd());
                body.pid = Some(Program { argv: &[node, path], env: &env, cwd: "/", fds: &fds }.spawn()?);
            }
        }
        body.control = Some(ours);
        self.adopt(key, body).map_err(|_| NotSpawned::Program(Errno::ENOSPC))?;
        Ok(key)
    }

    pub(super) fn run_in_spare(&mut self, key: BodyKey, mut run: Run, exec: Exec, path: &str) -> Result<(), Failure> {
        let cwd = exec.cwd.as_deref().unwrap_or(HOME_FOLDER);
        // A folder that cannot be entered is told of before there is a program.
        let entered = chdir(cwd).and_then(|()| chdir("/"));
        entered.map_err(|error| files::failure("cwd", &error.into()))?;
        let env = self.environment(&exec.env, key);
        let text = request(Path::new(path), cwd, &env).ok_or_else(zero)?;
        let head = [&(text.len() as u32).to_le_bytes()[..], &text].concat();
        run.stdin.begin(exec.stdin, &head);
        let Some(body) = self.bodies.get_mut(&key) else { return Err(invalid("the interpreter has just ended")) };
        body.kind = Kind::Once;
        body.run = Some(run);
        self.feed(key);
        self.refill_in(LONG);
        Ok(())
    }

    /// Something has ended: if it was a spare, another is started soon.
    pub(super) fn refill_soon(&mut self) {
        self.refill_in(BREATH);
    }

    fn refill_in(&mut self, time: Duration) {
        if self.kept.is_empty() {
            return;
        }
        let at = Instant::now() + time;
        // Not put off by those who come meanwhile.
        self.refill_at = Some(self.refill_at.map_or(at, |before| before.min(at)));
    }

    /// Keeps a spare from now on.
    pub(super) fn keep(&mut self, engine: Engine) -> Result<(), Failure> {
        if !self.kept.contains(&engine) {
            self.kept.push(engine);
        }
        self.spare_or_new(engine).map(drop)
    }

    /// Replaces spares that were used, when it is time.
    pub(super) fn refill(&mut self) {
        if self.refill_at.is_none_or(|at| at > Instant::now()) {
            return;
        }
        self.refill_at = None;
        for engine in self.kept.clone() {
            // One that cannot be started now is tried again by the next program.
            let _ = self.spare_or_new(engine);
        }
    }

    /// A node that waits has random state of its own, which must not be had twice: it goes. A python takes new state when it
    /// has a program.
    pub(super) fn forget_spares(&mut self) {
        for body in self.bodies.values_mut().filter(|body| body.kind == Kind::Spare(Engine::Node)) {
            body.is_doomed = true;
            // It has started nothing.
            let _ = body.pid.map(|pid| kill(pid, Signal::SIGKILL));
        }
    }
}

/// It has not ended, known to the agent or not.
fn is_heard(body: &Body) -> bool {
    let Some(stdin) = &body.stdin else { return false };
    let mut fds = [PollFd::new(stdin.as_fd(), PollFlags::empty())];
    poll(&mut fds, PollTimeout::ZERO) == Ok(0)
}
