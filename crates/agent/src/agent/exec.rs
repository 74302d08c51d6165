//! Execs: what each is run by. A command gets a process of its own, code an interpreter: one that waits (`agent/spare.rs`), one
//! that is kept (`agent/session.rs`), or a new one.

use std::io;
use std::path::Path;

use hearth_agent::{Answer, CallId, Command, End, Exec, Failure, FailureKind, Language, Stdin, Stream};
use nix::errno::Errno;

use super::Agent;
use crate::body::{Body, BodyKey, Feed, Kind, token};
use crate::engine::Engine;
use crate::files;
use crate::interpreters::{self, request};
use crate::poll::{Interest, Token};
use crate::run::Run;
use crate::spawn::{NotSpawned, Program};
use crate::tree::mark;

/// Where programs start that do not say where.
pub(super) const HOME_FOLDER: &str = "/work";
/// The kernel takes no longer argument than 128 kB: longer lines go into a file.
const LONGEST_LINE: usize = 100 << 10;

impl Agent {
    pub(super) fn exec(&mut self, id: CallId, exec: Exec) {
        if let Err(failure) = self.try_exec(id, exec) {
            self.connection.send(&Answer::Failed { id, failure });
        }
    }

    fn try_exec(&mut self, id: CallId, exec: Exec) -> Result<(), Failure> {
        let mut run = Run::new(id, exec.timeout, exec.output_limit);
        match exec.command {
            Command::Argv { ref argv } => {
                if argv.is_empty() {
                    return Err(invalid("the command is empty"));
                }
                let argv = argv.clone();
                self.run_once(run, exec, &argv)
            }
            Command::Shell { ref line } => {
                let shell = "/bin/sh".to_owned();
                let argv = if line.len() > LONGEST_LINE {
                    vec![shell, store(&mut run, Language::Sh, line.as_bytes())?]
                } else {
                    vec![shell, "-c".to_owned(), line.clone()]
                };
                self.run_once(run, exec, &argv)
            }
            Command::Code { language, ref source, session: None } => {
                let interpreter = self.interpreter(language)?;
                let path = store(&mut run, language, &source.0)?;
                match Engine::of(language) {
                    Some(engine) if can_wait(engine, &exec) => match self.spare_or_new(engine) {
                        Ok(key) => self.run_in_spare(key, run, exec, &path),
                        // A python that is only for this program does as well.
                        Err(_) if engine == Engine::Python => self.run_once(run, exec, &[interpreter, path]),
                        Err(failure) => Err(failure),
                    },
                    _ => self.run_once(run, exec, &[interpreter, path]),
                }
            }
            Command::Code { language, ref source, session: Some(ref name) } => {
                if exec.stdin != (Stdin::Empty {}) {
                    return Err(invalid("a program in a session has no stdin"));
                }
                self.interpreter(language)?;
                let path = store(&mut run, language, &source.0)?;
                let (name, cwd) = (name.clone(), exec.cwd.unwrap_or_default());
                let text = request(Path::new(&path), &cwd, &exec.env).ok_or_else(zero)?;
                self.run_in_session(run, language, &name, &text)
            }
        }
    }

    fn interpreter(&self, language: Language) -> Result<String, Failure> {
        self.interpreters.of(language).map(str::to_owned).ok_or_else(|| {
            let there: Vec<_> = self.interpreters.languages().into_iter().map(Language::name).collect();
            let message = format!("no interpreter for {language} in this sandbox; there are {}", there.join(", "));
            Failure { kind: FailureKind::NoInterpreter, message }
        })
    }

    /// The environment of a new process: the sandbox's, what was asked for, and the mark.
    pub(super) fn environment(&self, own: &[(String, String)], key: BodyKey) -> Vec<(String, String)> {
        let mut env: Vec<_> =
            self.env.iter().filter(|(name, _)| !own.iter().any(|(other, _)| other == name)).cloned().collect();
        env.extend_from_slice(own);
        env.push(mark(key));
        env
    }

    pub(super) fn new_key(&mut self) -> BodyKey {
        self.last_key = self.last_key.wrapping_add(1);
        BodyKey(self.last_key)
    }

    fn run_once(&mut self, mut run: Run, exec: Exec, argv: &[String]) -> Result<(), Failure> {
        let key = self.new_key();
        let feed = if exec.stdin == (Stdin::Empty {}) { Feed::Nothing } else { Feed::Pipe };
        let (mut body, ends) = Body::new(Kind::Once, feed).map_err(|error| full("no pipes", error))?;
        let env = self.environment(&exec.env, key);
        let cwd = exec.cwd.as_deref().unwrap_or(HOME_FOLDER);
        match (Program { argv, env: &env, cwd, fds: &ends.standard() }).spawn() {
            Ok(pid) => body.pid = Some(pid),
            Err(not) => return self.not_spawned(&mut run, not, argv),
        }
        run.stdin.begin(exec.stdin, &[]);
        body.run = Some(run);
        self.adopt(key, body)
    }

    /// What a shell would say, and with its status. Anything but a missing program is a failure of the request.
    fn not_spawned(&mut self, run: &mut Run, not: NotSpawned, argv: &[String]) -> Result<(), Failure> {
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
        self.connection.send(&Answer::Output { id: run.id, stream: Stream::Stderr, bytes: said.into_bytes().into() });
        run.exit(End::Code { code }).iter().for_each(|word| self.connection.send(word));
        Ok(())
    }

    /// Takes a body that has just been started into the loop.
    pub(super) fn adopt(&mut self, key: BodyKey, body: Body) -> Result<(), Failure> {
        let interest = self.output_interest();
        let added = [Stream::Stdout, Stream::Stderr]
            .iter()
            .filter_map(|stream| body.output(*stream).map(|fd| self.poll.add(fd, token(*stream, key), interest)))
            .chain(body.control.iter().map(|fd| self.poll.add(fd, Token::Control(key), Interest::Read)))
            .chain(body.stdin.iter().map(|fd| self.poll.add(fd, Token::Stdin(key), Interest::Nothing)))
            .collect::<Result<Vec<()>, Errno>>();
        self.bodies.insert(key, body);
        if let Err(error) = added {
            self.kill(key);
            self.bodies.remove(&key);
            return Err(full("too many descriptors", error));
        }
        self.feed(key);
        Ok(())
    }

    pub(super) fn running(&mut self, id: CallId) -> Option<(BodyKey, &mut Body)> {
        let found = self.bodies.iter_mut().find(|(_, body)| body.run.as_ref().is_some_and(|run| run.id == id));
        found.map(|(key, body)| (*key, body))
    }
}

/// An interpreter that waits serves a program that asks for nothing which only a new one has.
fn can_wait(engine: Engine, exec: &Exec) -> bool {
    let is_for_a_start = |name: &str| name.starts_with("PYTHON") || name.starts_with("LD_");
    engine == Engine::Node || !exec.env.iter().any(|(name, _)| is_for_a_start(name))
}

/// Puts a source into a file that goes with its run.
fn store(run: &mut Run, language: Language, source: &[u8]) -> Result<String, Failure> {
    let stored = interpreters::store(&run.id.to_string(), language, source);
    let (folder, file) = stored.map_err(|error| files::failure("the code", &error))?;
    run.source = Some(folder);
    file.into_os_string().into_string().map_err(|_| files::failure("the code", &io::ErrorKind::InvalidData.into()))
}

pub(super) fn invalid(message: &str) -> Failure {
    Failure { kind: FailureKind::Invalid, message: message.to_owned() }
}

pub(super) fn zero() -> Failure {
    invalid("a zero byte in an argument, a variable or a path")
}

pub(super) fn full(what: &str, error: Errno) -> Failure {
    Failure { kind: FailureKind::Full, message: format!("{what}: {}", error.desc()) }
}
