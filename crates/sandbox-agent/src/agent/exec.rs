//! Starts execs. A command gets a process of its own, code an interpreter: a spare
//! (`agent/spare.rs`), a session's (`agent/session.rs`), or a new one.

use std::io;
use std::path::Path;

use hearth_sandbox_agent::{
    AgentCallId, AgentReply, CallFailure, End, Exec, FailureKind, GuestCommand, Language, OutputStream, Stdin,
};
use nix::errno::Errno;

use super::Agent;
use crate::child::{ChildId, ChildKind, ChildProcess, Feed, token};
use crate::exec_state::ExecState;
use crate::files;
use crate::interpreter::Interpreter;
use crate::interpreters::{self, request};
use crate::kill_tree::mark;
use crate::poll::{Interest, PollToken};
use crate::spawn::{NotSpawned, Program};

/// The working directory of programs that name none.
pub(super) const HOME_FOLDER: &str = "/work";
/// The kernel takes no argument longer than 128 kB: longer lines go into a file.
const MAX_SHELL_ARGUMENT: usize = 100 << 10;

impl Agent {
    pub(super) fn exec(&mut self, id: AgentCallId, exec: Exec) {
        if let Err(failure) = self.try_exec(id, exec) {
            self.connection.send(&AgentReply::Failed { id, failure });
        }
    }

    fn try_exec(&mut self, id: AgentCallId, exec: Exec) -> Result<(), CallFailure> {
        let mut run = ExecState::new(id, exec.timeout, exec.output_limit);
        match exec.command {
            GuestCommand::Argv { ref argv } => {
                if argv.is_empty() {
                    return Err(invalid("the command is empty"));
                }
                let argv = argv.clone();
                self.run_once(run, exec, &argv)
            }
            GuestCommand::Shell { ref line } => {
                let shell = "/bin/sh".to_owned();
                let argv = if line.len() > MAX_SHELL_ARGUMENT {
                    vec![shell, store(&mut run, Language::Sh, line.as_bytes())?]
                } else {
                    vec![shell, "-c".to_owned(), line.clone()]
                };
                self.run_once(run, exec, &argv)
            }
            GuestCommand::Code { language, ref source, session: None } => {
                let program = self.interpreter_path(language)?;
                let path = store(&mut run, language, &source.0)?;
                match Interpreter::for_language(language) {
                    Some(interpreter) if can_wait(interpreter, &exec) => match self.spare_or_new(interpreter) {
                        Ok(key) => self.run_in_spare(key, run, exec, &path),
                        // A new python for this program does as well.
                        Err(_) if interpreter == Interpreter::Python => self.run_once(run, exec, &[program, path]),
                        Err(failure) => Err(failure),
                    },
                    _ => self.run_once(run, exec, &[program, path]),
                }
            }
            GuestCommand::Code { language, ref source, session: Some(ref name) } => {
                if exec.stdin != (Stdin::Empty {}) {
                    return Err(invalid("a program in a session has no stdin"));
                }
                self.interpreter_path(language)?;
                let path = store(&mut run, language, &source.0)?;
                let (name, cwd) = (name.clone(), exec.cwd.unwrap_or_default());
                let text = request(Path::new(&path), &cwd, &exec.env).ok_or_else(zero)?;
                self.run_in_session(run, language, &name, &text)
            }
        }
    }

    fn interpreter_path(&self, language: Language) -> Result<String, CallFailure> {
        self.interpreters.path(language).map(str::to_owned).ok_or_else(|| {
            let there: Vec<_> = self.interpreters.languages().into_iter().map(Language::name).collect();
            let message = format!("no interpreter for {language} in this sandbox; there are {}", there.join(", "));
            CallFailure { kind: FailureKind::NoInterpreter, message }
        })
    }

    /// The environment of a new process: the sandbox's, the request's, and the mark.
    pub(super) fn environment(&self, own: &[(String, String)], key: ChildId) -> Vec<(String, String)> {
        let mut env: Vec<_> =
            self.env.iter().filter(|(name, _)| !own.iter().any(|(other, _)| other == name)).cloned().collect();
        env.extend_from_slice(own);
        env.push(mark(key));
        env
    }

    pub(super) fn new_key(&mut self) -> ChildId {
        self.last_key = self.last_key.wrapping_add(1);
        ChildId(self.last_key)
    }

    fn run_once(&mut self, mut run: ExecState, exec: Exec, argv: &[String]) -> Result<(), CallFailure> {
        let key = self.new_key();
        let feed = if exec.stdin == (Stdin::Empty {}) { Feed::Nothing } else { Feed::Pipe };
        let (mut child, ends) = ChildProcess::new(ChildKind::Once, feed).map_err(|error| full("no pipes", error))?;
        let env = self.environment(&exec.env, key);
        let cwd = exec.cwd.as_deref().unwrap_or(HOME_FOLDER);
        match (Program { argv, env: &env, cwd, fds: &ends.standard() }).spawn() {
            Ok(pid) => child.pid = Some(pid),
            Err(not) => return self.not_spawned(&mut run, not, argv),
        }
        run.stdin.begin(exec.stdin, &[]);
        child.run = Some(run);
        self.register_child(key, child)
    }

    /// Answers as a shell would, with its exit code. Anything but a missing program is a failure of
    /// the request.
    fn not_spawned(&mut self, run: &mut ExecState, not: NotSpawned, argv: &[String]) -> Result<(), CallFailure> {
        let name = argv.first().map_or("", String::as_str);
        let (code, said) = match not {
            NotSpawned::NotFound => (127, format!("{name}: command not found\n")),
            NotSpawned::Program(Errno::EACCES) => (126, format!("{name}: permission denied\n")),
            NotSpawned::Program(Errno::ENOEXEC) => (126, format!("{name}: not a program\n")),
            NotSpawned::Program(error @ (Errno::EAGAIN | Errno::ENOMEM | Errno::EMFILE | Errno::ENFILE)) => {
                return Err(full(name, error));
            }
            NotSpawned::Program(Errno::E2BIG) => return Err(invalid("arguments and environment are too long")),
            NotSpawned::Program(error) => return Err(files::failure(name, &error.into())),
            NotSpawned::Folder(error) => return Err(files::failure("cwd", &error.into())),
            NotSpawned::Zero => return Err(zero()),
        };
        self.connection.send(&AgentReply::Output {
            id: run.id,
            stream: OutputStream::Stderr,
            bytes: said.into_bytes().into(),
        });
        run.exit(End::Code { code }).iter().for_each(|reply| self.connection.send(reply));
        Ok(())
    }

    /// Registers a child that was just started with the loop.
    pub(super) fn register_child(&mut self, key: ChildId, child: ChildProcess) -> Result<(), CallFailure> {
        let interest = self.output_interest();
        let added = [OutputStream::Stdout, OutputStream::Stderr]
            .iter()
            .filter_map(|stream| child.output(*stream).map(|fd| self.poll.add(fd, token(*stream, key), interest)))
            .chain(child.control.iter().map(|fd| self.poll.add(fd, PollToken::Control(key), Interest::Read)))
            .chain(child.stdin.iter().map(|fd| self.poll.add(fd, PollToken::Stdin(key), Interest::Nothing)))
            .collect::<Result<Vec<()>, Errno>>();
        self.children.insert(key, child);
        if let Err(error) = added {
            self.kill(key);
            self.children.remove(&key);
            return Err(full("too many descriptors", error));
        }
        self.feed(key);
        Ok(())
    }

    pub(super) fn running(&mut self, id: AgentCallId) -> Option<(ChildId, &mut ChildProcess)> {
        let found = self.children.iter_mut().find(|(_, child)| child.run.as_ref().is_some_and(|run| run.id == id));
        found.map(|(key, child)| (*key, child))
    }
}

/// A spare cannot serve a program that sets variables which only count at a start.
fn can_wait(interpreter: Interpreter, exec: &Exec) -> bool {
    let is_for_a_start = |name: &str| name.starts_with("PYTHON") || name.starts_with("LD_");
    interpreter == Interpreter::Node || !exec.env.iter().any(|(name, _)| is_for_a_start(name))
}

/// Stores a source in a file that is removed with its run.
fn store(run: &mut ExecState, language: Language, source: &[u8]) -> Result<String, CallFailure> {
    let stored = interpreters::store(&run.id.to_string(), language, source);
    let (folder, file) = stored.map_err(|error| files::failure("the code", &error))?;
    run.source = Some(folder);
    file.into_os_string().into_string().map_err(|_| files::failure("the code", &io::ErrorKind::InvalidData.into()))
}

pub(super) fn invalid(message: &str) -> CallFailure {
    CallFailure { kind: FailureKind::Invalid, message: message.to_owned() }
}

pub(super) fn zero() -> CallFailure {
    invalid("a zero byte in an argument, a variable or a path")
}

pub(super) fn full(what: &str, error: Errno) -> CallFailure {
    CallFailure { kind: FailureKind::Full, message: format!("{what}: {}", error.desc()) }
}
