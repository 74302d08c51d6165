//! Interpreters that keep their variables from one run to the next. Each has a socket of its own, over which it is asked to run
//! something and says when that is over; it does one thing at a time.

use std::os::fd::AsFd;
use std::path::Path;

use hearth_agent::{Answer, End, Failure, FailureKind, Language};
use nix::errno::Errno;
use nix::unistd::{read, write};

use super::Agent;
use super::exec::{HOME_FOLDER, full, invalid, zero};
use crate::body::{Body, BodyKey, Feed, Kind};
use crate::files;
use crate::interpreters::{BASH_SESSION, NODE_SESSION, request, script};
use crate::python::{Fork, control};
use crate::run::Run;
use crate::spawn::Program;

impl Agent {
    pub(super) fn run_in_session(
        &mut self,
        run: Run,
        language: Language,
        name: &str,
        text: &[u8],
    ) -> Result<(), Failure> {
        let key = match self.session(language, name) {
            Some(key) => key,
            None => self.start_session(language, name)?,
        };
        let Some(body) = self.bodies.get_mut(&key) else { return Err(invalid("the session has just ended")) };
        if body.run.as_ref().is_some_and(|run| run.kill_at.is_some() && !run.timed_out) && body.next.is_none() {
            // What it runs was cancelled, and ends in a moment.
            body.next = Some((run, text.to_vec()));
            return Ok(());
        }
        if body.run.is_some() {
            let message = format!("session {name:?} of {language} runs something already");
            return Err(Failure { kind: FailureKind::Busy, message });
        }
        // A session reads at once when it runs nothing; one that does not is broken.
        let told = body.control.as_ref().is_some_and(|control| write(control, text) == Ok(text.len()));
        if !told {
            self.kill(key);
            let message = format!("session {name:?} of {language} does not answer and was ended");
            return Err(Failure { kind: FailureKind::Other, message });
        }
        body.run = Some(run);
        Ok(())
    }

    fn session(&self, language: Language, name: &str) -> Option<BodyKey> {
        let wanted = Kind::Session { language, name: name.to_owned() };
        self.bodies.iter().find(|(_, body)| body.kind == wanted && !body.is_doomed).map(|(key, _)| *key)
    }

    fn start_session(&mut self, language: Language, name: &str) -> Result<BodyKey, Failure> {
        let key = self.new_key();
        let kind = Kind::Session { language, name: name.to_owned() };
        let (mut body, ends) = Body::new(kind, Feed::Nothing).map_err(|error| full("no pipes", error))?;
        let (ours, theirs) = control().ok_or_else(|| full("no socket", Errno::EMFILE))?;
        let env = self.environment(&[], key);
        let failed = |message: &str| Failure { kind: FailureKind::Other, message: message.to_owned() };
        match language {
            Language::Python => {
                let mut env = env;
                env.push(("HEARTH_SESSION".to_owned(), name.to_owned()));
                let text = request(Path::new(""), HOME_FOLDER, &env).ok_or_else(zero)?;
                let asked = self.fork(key, Fork::Session(&text), &ends, theirs.as_fd());
                asked.map_err(|_| failed("python cannot be started"))?;
            }
            Language::JavaScript | Language::TypeScript | Language::Bash | Language::Sh => {
                let (interpreter, file, source) = match language {
                    Language::JavaScript | Language::TypeScript => {
                        (&self.interpreters.node, "session.cjs", NODE_SESSION)
                    }
                    // Plain shells cannot read what the agent writes.
                    _ => (&self.interpreters.bash, "session.bash", BASH_SESSION),
                };
                let Some(interpreter) = interpreter.clone() else {
                    let message = format!("a session of {language} needs bash, which is not in this sandbox");
                    return Err(Failure { kind: FailureKind::NoInterpreter, message });
                };
                let path = script(file, source).map_err(|error| files::failure(file, &error))?;
                let fds = ends.with(theirs.as_fd());
                let pid = Program { argv: &[interpreter, path], env: &env, cwd: HOME_FOLDER, fds: &fds }.spawn();
                body.pid = Some(pid.map_err(|_| failed("the interpreter cannot be started"))?);
            }
        }
        body.control = Some(ours);
        self.adopt(key, body)?;
        Ok(key)
    }

    /// Something on a body's own socket: a spare that waits, or a session's run that is over.
    pub(super) fn hear_body(&mut self, key: BodyKey) {
        let Some(body) = self.bodies.get_mut(&key) else { return };
        let Some(control) = &body.control else { return };
        let mut buffer = [0; 256];
        match read(control, &mut buffer) {
            Ok(count) if count > 0 => body.said.extend_from_slice(&buffer[..count]),
            Err(Errno::EAGAIN | Errno::EINTR) => return,
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

    /// A session's run is over; the session stays.
    fn session_answered(&mut self, key: BodyKey, code: u8) {
        self.drain(key);
        let Some(body) = self.bodies.get_mut(&key) else { return };
        if body.is_doomed {
            // Its end is under way, and says more.
            return;
        }
        let next = body.next.take();
        let Kind::Session { language, name } = body.kind.clone() else { return };
        if let Some(mut run) = body.run.take() {
            run.exit(End::Code { code }).iter().for_each(|word| self.connection.send(word));
        }
        if let Some((run, text)) = next {
            let id = run.id;
            if let Err(failure) = self.run_in_session(run, language, &name, &text) {
                self.connection.send(&Answer::Failed { id, failure });
            }
        }
    }

    pub(super) fn end_session(&mut self, language: Language, name: &str) {
        if let Some(key) = self.session(language, name) {
            self.kill(key);
        }
    }
}
