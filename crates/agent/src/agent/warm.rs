//! Interpreters that have started before anybody asked for a program.

use std::os::fd::AsFd;

use hearth_agent::{Answer, CallId, Failure, FailureKind, Language};
use nix::unistd::{Pid, read};

use super::Agent;
use crate::body::{Body, BodyKey, Feed, Kind};
use crate::interpreters::{NODE_SPARE, script};
use crate::poll::{Interest, Token};
use crate::python::{Heard, Python, control};
use crate::spawn::{NotSpawned, Program};
use crate::tree::mark;

impl Agent {
    pub(super) fn warm(&mut self, id: CallId, languages: Vec<Language>) {
        for language in &languages {
            let started = match language {
                Language::Python => self.start_python().is_some(),
                Language::JavaScript | Language::TypeScript => {
                    self.keeps_spare = true;
                    self.spare().is_some() || self.start_spare().is_ok()
                }
                // A shell starts in a millisecond.
                Language::Bash | Language::Sh => true,
            };
            if !started {
                let message = format!("the interpreter of {language} cannot be started");
                let failure = Failure { kind: FailureKind::NoInterpreter, message };
                return self.connection.send(&Answer::Failed { id, failure });
            }
        }
        self.warming.push((id, languages));
        self.tell_warm();
    }

    /// Tells those whose interpreters are all ready.
    fn tell_warm(&mut self) {
        let python_ready = self.python.as_ref().is_some_and(|python| python.is_ready);
        // A spare has closed its descriptor when it waits.
        let node_ready = self.bodies.values().any(|body| body.kind == Kind::Spare && body.control.is_none());
        let is_ready = |language: &Language| match language {
            Language::Python => python_ready,
            Language::JavaScript | Language::TypeScript => node_ready,
            Language::Bash | Language::Sh => true,
        };
        let (ready, waiting) = self.warming.drain(..).partition(|(_, languages)| languages.iter().all(is_ready));
        self.warming = waiting;
        let ready: Vec<(CallId, Vec<Language>)> = ready;
        ready.into_iter().for_each(|(id, _)| self.connection.send(&Answer::Done { id }));
    }

    /// The python that forks, started if it is not there.
    pub(super) fn start_python(&mut self) -> Option<()> {
        if self.python.is_some() {
            return Some(());
        }
        let python = Python::start(self.interpreters.python.as_ref()?, &self.env)?;
        self.poll.add(python.socket(), Token::Python, Interest::Read).ok()?;
        self.python = Some(python);
        Some(())
    }

    pub(super) fn end_python(&mut self) {
        if let Some(python) = self.python.take() {
            // Its forks go on, and are reaped here from now on.
            let _ = nix::sys::signal::kill(python.pid, nix::sys::signal::Signal::SIGKILL);
        }
    }

    pub(super) fn hear_python(&mut self) {
        let Some(python) = &mut self.python else { return };
        let Some(heard) = python.listen() else { return self.end_python() };
        for heard in heard {
            match heard {
                Heard::Ready => {
                    if let Some(python) = &mut self.python {
                        python.is_ready = true;
                    }
                    self.tell_warm();
                }
                Heard::Forked(key, pid) => self.learn_pid(key, pid),
                Heard::Ended(key, status) => self.ended(key, status),
            }
        }
    }

    fn learn_pid(&mut self, key: BodyKey, pid: Pid) {
        let Some(body) = self.bodies.get_mut(&key) else { return };
        body.pid = Some(pid);
        if body.is_doomed {
            self.kill(key);
        }
    }

    /// A node that waits, if there is one.
    pub(super) fn spare(&self) -> Option<BodyKey> {
        let spares = self.bodies.iter().filter(|(_, body)| body.kind == Kind::Spare && !body.is_doomed);
        // One that is ready rather than one that still starts.
        spares.max_by_key(|(_, body)| body.control.is_none()).map(|(key, _)| *key)
    }

    pub(super) fn start_spare(&mut self) -> Result<BodyKey, NotSpawned> {
        let Some(node) = self.interpreters.node.clone() else { return Err(NotSpawned::NotFound) };
        let path = script("spare.cjs", NODE_SPARE).map_err(|_| NotSpawned::Program(nix::errno::Errno::ENOSPC))?;
        let key = self.new_key();
        let (mut body, ends) = Body::new(Kind::Spare, Feed::Pipe).map_err(NotSpawned::Program)?;
        let (ours, theirs) = control().ok_or(NotSpawned::Program(nix::errno::Errno::EMFILE))?;
        let mut env = self.env.clone();
        env.push(mark(key));
        let fds = [&ends.stdin, &ends.stdout, &ends.stderr, &theirs].map(AsFd::as_fd);
        body.pid = Some(Program { argv: &[node, path], env: &env, cwd: "/", fds: &fds }.spawn()?);
        body.control = Some(ours);
        self.adopt(key, body).map_err(|_| NotSpawned::Program(nix::errno::Errno::ENOSPC))?;
        Ok(key)
    }

    /// Something on a body's own socket: a spare that waits, or a session's run that is over.
    pub(super) fn hear_body(&mut self, key: BodyKey) {
        let Some(body) = self.bodies.get_mut(&key) else { return };
        let Some(control) = &body.control else { return };
        let mut buffer = [0; 256];
        match read(control, &mut buffer) {
            Ok(count) if count > 0 => body.said.extend_from_slice(&buffer[..count]),
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EINTR) => return,
            // Closed: a spare that waits, or a process whose end comes as one.
            _ => {
                body.control = None;
                return self.tell_warm();
            }
        }
        if !matches!(body.kind, Kind::Session { .. }) {
            body.said.clear();
            return;
        }
        while let Some(end) = self.bodies.get(&key).and_then(|body| body.said.iter().position(|byte| *byte == b'\n')) {
            let Some(body) = self.bodies.get_mut(&key) else { return };
            let line: Vec<u8> = body.said.drain(..=end).collect();
            let status = std::str::from_utf8(&line).ok().and_then(|line| line.trim().parse::<u8>().ok());
            self.session_answered(key, status.unwrap_or(1));
        }
    }

    /// Interpreters that wait with random state of their own begin anew: it must not be had twice. A fork of the python that
    /// forks asks the kernel for its own.
    pub(super) fn forget_spares(&mut self) {
        while let Some(key) = self.spare() {
            self.kill(key);
        }
    }
}
