//! Who waits for interpreters to be ready, and the python that forks.

use std::os::fd::BorrowedFd;

use hearth_agent::{Answer, CallId, Failure, FailureKind, Language};
use nix::errno::Errno;
use nix::unistd::Pid;

use super::Agent;
use crate::body::{BodyKey, Ends, Kind};
use crate::engine::Engine;
use crate::poll::{Interest, Token};
use crate::python::{Deaf, Fork, Heard, Line, Python};
use crate::spawn::NotSpawned;

impl Agent {
    pub(super) fn warm(&mut self, id: CallId, languages: &[Language]) {
        let mut engines = Vec::new();
        for language in languages {
            let Some(engine) = Engine::of(*language) else { continue };
            if self.keep(engine).is_err() {
                return self.connection.send(&cold(id, *language));
            }
            engines.push(engine);
        }
        self.warming.push((id, engines));
        self.tell_warm();
    }

    /// Tells those whose interpreters are all ready.
    pub(super) fn tell_warm(&mut self) {
        // A spare has closed its descriptor when it waits.
        let is_ready = |engine: &Engine| {
            self.bodies.values().any(|body| body.kind == Kind::Spare(*engine) && body.control.is_none())
        };
        let (ready, waiting) = self.warming.drain(..).partition(|(_, engines)| engines.iter().all(is_ready));
        self.warming = waiting;
        let ready: Vec<(CallId, Vec<Engine>)> = ready;
        ready.into_iter().for_each(|(id, _)| self.connection.send(&Answer::Done { id }));
    }

    /// A spare has ended before it was of any use: who waits for it would wait for ever.
    pub(super) fn tell_cold(&mut self, engine: Engine) {
        let language = match engine {
            Engine::Python => Language::Python,
            Engine::Node => Language::JavaScript,
        };
        let (lost, waiting) = self.warming.drain(..).partition(|(_, engines)| engines.contains(&engine));
        self.warming = waiting;
        let lost: Vec<(CallId, Vec<Engine>)> = lost;
        lost.into_iter().for_each(|(id, _)| self.connection.send(&cold(id, language)));
    }

    /// Asks the python that forks for a process, and starts that python if it is not there.
    pub(super) fn fork(
        &mut self,
        key: BodyKey,
        fork: Fork<'_>,
        ends: &Ends,
        control: BorrowedFd<'_>,
    ) -> Result<(), NotSpawned> {
        if self.python.is_none() {
            let program = self.interpreters.python.as_ref().ok_or(NotSpawned::NotFound)?;
            let python = Python::start(program, &self.env).ok_or(NotSpawned::Program(Errno::EAGAIN))?;
            self.poll.add(python.socket(), Token::Python, Interest::Read).map_err(NotSpawned::Program)?;
            self.python = Some(python);
        }
        match self.python.as_ref().map(|python| python.fork(key, fork, ends, control)) {
            Some(Ok(())) => Ok(()),
            Some(Err(Deaf)) | None => {
                self.end_python();
                Err(NotSpawned::Program(Errno::EPIPE))
            }
        }
    }

    /// Its forks go on, and are reaped here from now on.
    pub(super) fn end_python(&mut self) {
        let Some(mut python) = self.python.take() else { return };
        let _ = nix::sys::signal::kill(python.pid, nix::sys::signal::Signal::SIGKILL);
        // What it had said of its forks comes before its end.
        let (heard, _) = python.listen();
        heard.into_iter().for_each(|heard| self.heed(heard));
        self.lose_unforked();
    }

    pub(super) fn hear_python(&mut self) {
        let Some(python) = &mut self.python else { return };
        let (heard, line) = python.listen();
        heard.into_iter().for_each(|heard| self.heed(heard));
        if line == Line::Closed {
            self.end_python();
        }
    }

    fn heed(&mut self, heard: Heard) {
        match heard {
            Heard::Forked(key, pid) => self.learn_pid(key, pid),
            Heard::Ended(key, status) => self.ended(key, status),
        }
    }

    fn learn_pid(&mut self, key: BodyKey, pid: Pid) {
        let Some(body) = self.bodies.get_mut(&key) else { return };
        body.pid = Some(pid);
        if body.is_doomed {
            self.kill(key);
        }
    }
}

fn cold(id: CallId, language: Language) -> Answer {
    let message = format!("the interpreter of {language} cannot be started");
    Answer::Failed { id, failure: Failure { kind: FailureKind::NoInterpreter, message } }
}
