//! Interpreters that keep their variables from one run to the next. Each has a socket of its own,
//! over which it gets requests and reports the end of each run; it does one thing at a time.

use std::os::fd::AsFd;
use std::path::Path;

use hearth_sandbox_agent::{AgentReply, CallFailure, End, FailureKind, Language};
use nix::errno::Errno;
use nix::unistd::{read, write};

use super::Agent;
use super::exec::{HOME_FOLDER, full, invalid, zero};
use crate::child::{ChildId, ChildKind, ChildProcess, Feed};
use crate::exec_state::ExecState;
use crate::files;
use crate::fork_server::{ForkRequest, control};
use crate::interpreters::{BASH_SESSION, NODE_SESSION, request, script};
use crate::spawn::Program;

impl Agent {
    pub(super) fn run_in_session(
        &mut self,
        run: ExecState,
        language: Language,
        name: &str,
        text: &[u8],
    ) -> Result<(), CallFailure> {
        let key = match self.session(language, name) {
            Some(key) => key,
            None => self.start_session(language, name)?,
        };
        let Some(child) = self.children.get_mut(&key) else { return Err(invalid("the session has just ended")) };
        if child.run.as_ref().is_some_and(|run| run.kill_at.is_some() && !run.timed_out) && child.next.is_none() {
            // Its exec was cancelled, and ends in a moment.
            child.next = Some((run, text.to_vec()));
            return Ok(());
        }
        if child.run.is_some() {
            let message = format!("session {name:?} of {language} runs something already");
            return Err(CallFailure { kind: FailureKind::Busy, message });
        }
        // An idle session reads at once; one that does not is broken.
        let told = child.control.as_ref().is_some_and(|control| write(control, text) == Ok(text.len()));
        if !told {
            self.kill(key);
            let message = format!("session {name:?} of {language} does not answer and was ended");
            return Err(CallFailure { kind: FailureKind::Other, message });
        }
        child.run = Some(run);
        Ok(())
    }

    fn session(&self, language: Language, name: &str) -> Option<ChildId> {
        let wanted = ChildKind::Session { language, name: name.to_owned() };
        self.children.iter().find(|(_, child)| child.kind == wanted && !child.being_killed).map(|(key, _)| *key)
    }

    fn start_session(&mut self, language: Language, name: &str) -> Result<ChildId, CallFailure> {
        let key = self.new_key();
        let kind = ChildKind::Session { language, name: name.to_owned() };
        let (mut child, ends) = ChildProcess::new(kind, Feed::Nothing).map_err(|error| full("no pipes", error))?;
        let (ours, theirs) = control().ok_or_else(|| full("no socket", Errno::EMFILE))?;
        let env = self.environment(&[], key);
        let failed = |message: &str| CallFailure { kind: FailureKind::Other, message: message.to_owned() };
        match language {
            Language::Python => {
                let mut env = env;
                env.push(("HEARTH_SESSION".to_owned(), name.to_owned()));
                let text = request(Path::new(""), HOME_FOLDER, &env).ok_or_else(zero)?;
                let asked = self.fork(key, ForkRequest::Session(&text), &ends, theirs.as_fd());
                asked.map_err(|_| failed("python cannot be started"))?;
            }
            Language::JavaScript | Language::TypeScript | Language::Bash | Language::Sh => {
                let (interpreter, file, source) = match language {
                    Language::JavaScript | Language::TypeScript => {
                        (&self.interpreters.node, "session.cjs", NODE_SESSION)
                    }
                    // Plain shells cannot parse requests.
                    _ => (&self.interpreters.bash, "session.bash", BASH_SESSION),
                };
                let Some(interpreter) = interpreter.clone() else {
                    let message = format!("a session of {language} needs bash, which is not in this sandbox");
                    return Err(CallFailure { kind: FailureKind::NoInterpreter, message });
                };
                let path = script(file, source).map_err(|error| files::failure(file, &error))?;
                let fds = ends.with(theirs.as_fd());
                let pid = Program { argv: &[interpreter, path], env: &env, cwd: HOME_FOLDER, fds: &fds }.spawn();
                child.pid = Some(pid.map_err(|_| failed("the interpreter cannot be started"))?);
            }
        }
        child.control = Some(ours);
        self.register_child(key, child)?;
        Ok(key)
    }

    /// A child's own socket is readable: a spare that is ready, or the end of a session's run.
    pub(super) fn read_control(&mut self, key: ChildId) {
        let Some(child) = self.children.get_mut(&key) else { return };
        let Some(control) = &child.control else { return };
        let mut buffer = [0; 256];
        match read(control, &mut buffer) {
            Ok(count) if count > 0 => child.said.extend_from_slice(&buffer[..count]),
            Err(Errno::EAGAIN | Errno::EINTR) => return,
            // Closed: a spare that is ready, or a process that ends.
            _ => {
                child.control = None;
                return self.finish_prewarms();
            }
        }
        if !matches!(child.kind, ChildKind::Session { .. }) {
            child.said.clear();
            return;
        }
        while let Some(end) =
            self.children.get(&key).and_then(|child| child.said.iter().position(|byte| *byte == b'\n'))
        {
            let Some(child) = self.children.get_mut(&key) else { return };
            let line: Vec<u8> = child.said.drain(..=end).collect();
            let status = std::str::from_utf8(&line).ok().and_then(|line| line.trim().parse::<u8>().ok());
            self.session_answered(key, status.unwrap_or(1));
        }
    }

    /// A session's run has ended; the session stays.
    fn session_answered(&mut self, key: ChildId, code: u8) {
        self.drain(key);
        let Some(child) = self.children.get_mut(&key) else { return };
        if child.being_killed {
            // Its end is under way, and is reported with more detail.
            return;
        }
        let next = child.next.take();
        let ChildKind::Session { language, name } = child.kind.clone() else { return };
        if let Some(mut run) = child.run.take() {
            run.exit(End::Code { code }).iter().for_each(|reply| self.connection.send(reply));
        }
        if let Some((run, text)) = next {
            let id = run.id;
            if let Err(failure) = self.run_in_session(run, language, &name, &text) {
                self.connection.send(&AgentReply::Failed { id, failure });
            }
        }
    }

    pub(super) fn end_session(&mut self, language: Language, name: &str) {
        if let Some(key) = self.session(language, name) {
            self.kill(key);
        }
    }
}
