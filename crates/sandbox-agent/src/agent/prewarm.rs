//! Prewarm requests, and the fork server.

use std::os::fd::BorrowedFd;

use hearth_sandbox_agent::{AgentCallId, AgentReply, CallFailure, FailureKind, Language};
use nix::errno::Errno;
use nix::unistd::Pid;

use super::Agent;
use crate::child::{ChildId, ChildKind, Ends};
use crate::fork_server::{ForkRequest, ForkServer, ForkServerEvent, ForkServerGone, Line};
use crate::interpreter::Interpreter;
use crate::poll::{Interest, PollToken};
use crate::spawn::NotSpawned;

impl Agent {
    pub(super) fn prewarm(&mut self, id: AgentCallId, languages: &[Language]) {
        let mut interpreters = Vec::new();
        for language in languages {
            let Some(interpreter) = Interpreter::for_language(*language) else { continue };
            if self.ensure_spare(interpreter).is_err() {
                return self.connection.send(&not_started(id, *language));
            }
            interpreters.push(interpreter);
        }
        self.prewarm_waiters.push((id, interpreters));
        self.finish_prewarms();
    }

    /// Answers the requests whose interpreters are all ready.
    pub(super) fn finish_prewarms(&mut self) {
        // A spare closes its socket when it is ready.
        let is_ready = |interpreter: &Interpreter| {
            self.children.values().any(|child| child.kind == ChildKind::Spare(*interpreter) && child.control.is_none())
        };
        let (ready, waiting) =
            self.prewarm_waiters.drain(..).partition(|(_, interpreters)| interpreters.iter().all(is_ready));
        self.prewarm_waiters = waiting;
        let ready: Vec<(AgentCallId, Vec<Interpreter>)> = ready;
        ready.into_iter().for_each(|(id, _)| self.connection.send(&AgentReply::Done { id }));
    }

    /// A spare has ended before it was used: requests that wait for it fail.
    pub(super) fn fail_prewarms(&mut self, interpreter: Interpreter) {
        let language = match interpreter {
            Interpreter::Python => Language::Python,
            Interpreter::Node => Language::JavaScript,
        };
        let (lost, waiting) =
            self.prewarm_waiters.drain(..).partition(|(_, interpreters)| interpreters.contains(&interpreter));
        self.prewarm_waiters = waiting;
        let lost: Vec<(AgentCallId, Vec<Interpreter>)> = lost;
        lost.into_iter().for_each(|(id, _)| self.connection.send(&not_started(id, language)));
    }

    /// Asks the fork server for a process, and starts the server if there is none.
    pub(super) fn fork(
        &mut self,
        key: ChildId,
        fork: ForkRequest<'_>,
        ends: &Ends,
        control: BorrowedFd<'_>,
    ) -> Result<(), NotSpawned> {
        if self.fork_server.is_none() {
            let program = self.interpreters.python.as_ref().ok_or(NotSpawned::NotFound)?;
            let fork_server = ForkServer::start(program, &self.env).ok_or(NotSpawned::Program(Errno::EAGAIN))?;
            self.poll.add(fork_server.socket(), PollToken::ForkServer, Interest::Read).map_err(NotSpawned::Program)?;
            self.fork_server = Some(fork_server);
        }
        match self.fork_server.as_ref().map(|fork_server| fork_server.fork(key, fork, ends, control)) {
            Some(Ok(())) => Ok(()),
            Some(Err(ForkServerGone)) | None => {
                self.end_fork_server();
                Err(NotSpawned::Program(Errno::EPIPE))
            }
        }
    }

    /// Its forks go on, and are reaped by the agent from now on.
    pub(super) fn end_fork_server(&mut self) {
        let Some(mut fork_server) = self.fork_server.take() else { return };
        let _ = nix::sys::signal::kill(fork_server.pid, nix::sys::signal::Signal::SIGKILL);
        // Its last reports about forks are handled before its end.
        let (heard, _) = fork_server.listen();
        heard.into_iter().for_each(|heard| self.handle_fork_event(heard));
        self.fail_unforked();
    }

    pub(super) fn read_fork_server(&mut self) {
        let Some(fork_server) = &mut self.fork_server else { return };
        let (heard, line) = fork_server.listen();
        heard.into_iter().for_each(|heard| self.handle_fork_event(heard));
        if line == Line::Closed {
            self.end_fork_server();
        }
    }

    fn handle_fork_event(&mut self, heard: ForkServerEvent) {
        match heard {
            ForkServerEvent::Forked(key, pid) => self.set_pid(key, pid),
            ForkServerEvent::Ended(key, status) => self.ended(key, status),
        }
    }

    fn set_pid(&mut self, key: ChildId, pid: Pid) {
        let Some(child) = self.children.get_mut(&key) else { return };
        child.pid = Some(pid);
        if child.being_killed {
            self.kill(key);
        }
    }
}

fn not_started(id: AgentCallId, language: Language) -> AgentReply {
    let message = format!("the interpreter of {language} cannot be started");
    AgentReply::Failed { id, failure: CallFailure { kind: FailureKind::NoInterpreter, message } }
}
