//! Execs: started, fed, signalled, and their output passed on.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use hearth_agent::{
    Answer, CHUNK, CallId, Command, End, Exec, Failure, FailureKind, Language, STDIN_WINDOW, Signal, Stdin, Stream,
};
use nix::errno::Errno;
use nix::unistd::{Pid, read, write};

use super::Agent;
use crate::body::{Body, BodyKey, Ends, Feed, Kind, token};
use crate::files;
use crate::interpreters::{self, BASH_SESSION, NODE_SESSION, request, script};
use crate::poll::{Interest, Token};
use crate::python::{Fork, Unheard, control};
use crate::run::Run;
use crate::spawn::{NotSpawned, Program};
use crate::tree::mark;

/// Where programs start that do not say where.
const HOME_FOLDER: &str = "/work";
/// The kernel takes no longer argument than 128 kB: longer lines go into a file.
const LONGEST_LINE: usize = 100 << 10;

/// How a new process of an exec gets to its program.
enum Way {
    Argv(Vec<String>),
    /// A fork of the python that waits.
    Fork(Vec<u8>),
}

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
                self.run_once(run, exec, Way::Argv(argv))
            }
            Command::Shell { ref line } => {
                let shell = "/bin/sh".to_owned();
                let argv = if line.len() > LONGEST_LINE {
                    vec![shell, store(&mut run, Language::Sh, line.as_bytes())?]
                } else {
                    vec![shell, "-c".to_owned(), line.clone()]
                };
                self.run_once(run, exec, Way::Argv(argv))
            }
            Command::Code { language, ref source, session: None } => {
                let interpreter = self.interpreter(language)?;
                let path = store(&mut run, language, &source.0)?;
                match language {
                    Language::JavaScript | Language::TypeScript => self.run_in_node(run, exec, &path),
                    Language::Python => {
                        let way = self.python_way(&exec, &path).unwrap_or_else(|| Way::Argv(vec![interpreter, path]));
                        self.run_once(run, exec, way)
                    }
                    Language::Bash | Language::Sh => self.run_once(run, exec, Way::Argv(vec![interpreter, path])),
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
    fn environment(&self, own: &[(String, String)], key: BodyKey) -> Vec<(String, String)> {
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

    /// A fork serves a program that asks for nothing which only a new interpreter has.
    fn python_way(&mut self, exec: &Exec, path: &str) -> Option<Way> {
        if exec.env.iter().any(|(name, _)| name.starts_with("PYTHON") || name.starts_with("LD_")) {
            return None;
        }
        self.start_python()?;
        let key = BodyKey(self.last_key.wrapping_add(1));
        let cwd = exec.cwd.as_deref().unwrap_or(HOME_FOLDER);
        // A folder that cannot be entered is told of before there is a process.
        nix::unistd::access(cwd, nix::unistd::AccessFlags::X_OK).ok()?;
        request(Path::new(path), cwd, &self.environment(&exec.env, key)).map(Way::Fork)
    }

    fn run_once(&mut self, mut run: Run, exec: Exec, way: Way) -> Result<(), Failure> {
        let key = self.new_key();
        let feed = if exec.stdin == (Stdin::Empty {}) { Feed::Nothing } else { Feed::Pipe };
        let (mut body, ends) = Body::new(Kind::Once, feed).map_err(|error| full("no pipes", error))?;
        let env = self.environment(&exec.env, key);
        let cwd = exec.cwd.as_deref().unwrap_or(HOME_FOLDER);
        let started = match &way {
            Way::Argv(argv) => spawn(argv, &env, cwd, &ends, None).map(Some),
            Way::Fork(text) => match self.fork(key, Fork::Run, &ends, text) {
                Ok(()) => Ok(None),
                // As if there were no fork to be had.
                Err(_) => {
                    let path = run.source.as_ref().map(|folder| folder.join("main.py"));
                    let path = path.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_default();
                    let argv = [self.interpreters.python.clone().unwrap_or_default(), path];
                    spawn(&argv, &env, cwd, &ends, None).map(Some)
                }
            },
        };
        match started {
            Ok(pid) => body.pid = pid,
            Err(not) => return self.not_spawned(&run, not, &way),
        }
        run.stdin.begin(exec.stdin, &[]);
        body.run = Some(run);
        self.adopt(key, body)
    }

    /// What a shell would say, and with its status. Anything but a missing program is a failure of the request.
    fn not_spawned(&mut self, run: &Run, not: NotSpawned, way: &Way) -> Result<(), Failure> {
        let name = match way {
            Way::Argv(argv) => argv.first().map_or("", String::as_str),
            Way::Fork(_) => "python3",
        };
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
        self.connection.send(&run.exit(End::Code { code }));
        Ok(())
    }

    fn run_in_node(&mut self, mut run: Run, exec: Exec, path: &str) -> Result<(), Failure> {
        let key = match self.spare() {
            Some(key) => key,
            None => self.start_spare().map_err(|not| match not {
                NotSpawned::Program(error) => full("node", error),
                _ => invalid("node cannot be started"),
            })?,
        };
        let cwd = exec.cwd.as_deref().unwrap_or(HOME_FOLDER);
        let env = self.environment(&exec.env, key);
        if let Err(error) = nix::unistd::access(cwd, nix::unistd::AccessFlags::X_OK) {
            return Err(files::failure("cwd", &error.into()));
        }
        let text = request(Path::new(path), cwd, &env).ok_or_else(zero)?;
        let head = [&(text.len() as u32).to_le_bytes()[..], &text].concat();
        run.stdin.begin(exec.stdin, &head);
        if let Some(body) = self.bodies.get_mut(&key) {
            body.kind = Kind::Once;
            body.run = Some(run);
        }
        self.feed(key);
        Ok(())
    }

    fn run_in_session(&mut self, run: Run, language: Language, name: &str, text: &[u8]) -> Result<(), Failure> {
        let key = match self.session(language, name) {
            Some(key) => key,
            None => self.start_session(language, name)?,
        };
        let Some(body) = self.bodies.get_mut(&key) else { return Err(invalid("the session has just ended")) };
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
                self.start_python().ok_or_else(|| failed("python cannot be started"))?;
                let text = request(Path::new(""), HOME_FOLDER, &env).ok_or_else(zero)?;
                self.fork(key, Fork::Session(theirs.as_fd()), &ends, &text).map_err(|_| failed("python is deaf"))?;
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
                let pid = spawn(&[interpreter, path], &env, HOME_FOLDER, &ends, Some(&theirs));
                body.pid = Some(pid.map_err(|_| failed("the interpreter cannot be started"))?);
            }
        }
        body.control = Some(ours);
        self.adopt(key, body)?;
        Ok(key)
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

    fn fork(&mut self, key: BodyKey, fork: Fork<'_>, ends: &Ends, text: &[u8]) -> Result<(), Unheard> {
        let Some(python) = &self.python else { return Err(Unheard::Deaf) };
        let asked = python.fork(key, fork, ends, text);
        if asked == Err(Unheard::Deaf) {
            self.end_python();
        }
        asked
    }

    fn running(&mut self, id: CallId) -> Option<(BodyKey, &mut Body)> {
        let found = self.bodies.iter_mut().find(|(_, body)| body.run.as_ref().is_some_and(|run| run.id == id));
        found.map(|(key, body)| (*key, body))
    }

    pub(super) fn stdin(&mut self, id: CallId, bytes: &[u8]) {
        let Some((key, body)) = self.running(id) else { return };
        let takes = body.stdin.is_some();
        match body.run.as_mut() {
            // A client that does not wait to be told is broken, and would fill the agent's memory.
            Some(run) if takes && run.stdin.waiting.len() + bytes.len() > STDIN_WINDOW => return self.kill(key),
            Some(run) if takes => run.stdin.waiting.extend(bytes),
            // It reads no more; the client may go on all the same.
            _ => self.connection.send(&Answer::Taken { id, bytes: bytes.len() as u32 }),
        }
        self.feed(key);
    }

    pub(super) fn close_stdin(&mut self, id: CallId) {
        let Some((key, body)) = self.running(id) else { return };
        if let Some(run) = body.run.as_mut() {
            run.stdin.closed = true;
        }
        self.feed(key);
    }

    pub(super) fn signal(&mut self, id: CallId, signal: Signal) {
        let Some((_, body)) = self.running(id) else { return };
        let signal = nix::sys::signal::Signal::try_from(i32::from(signal.0));
        if let (Some(pid), Ok(signal)) = (body.pid, signal) {
            // It may be gone already.
            let _ = nix::sys::signal::killpg(pid, signal);
        }
    }

    pub(super) fn cancel(&mut self, id: CallId) {
        if let Some(failure) = self.writes.cancel(id) {
            self.connection.send(&Answer::Failed { id, failure });
        } else if let Some((key, _)) = self.running(id) {
            self.kill(key);
        }
    }

    pub(super) fn end_session(&mut self, language: Language, name: &str) {
        if let Some(key) = self.session(language, name) {
            self.kill(key);
        }
    }

    /// Nobody reads a program's input any more: what waits is as good as taken.
    pub(super) fn stop_feeding(&mut self, key: BodyKey) {
        let Some(body) = self.bodies.get_mut(&key) else { return };
        body.stdin = None;
        let Some(run) = &mut body.run else { return };
        let waiting = run.stdin.waiting.len();
        run.stdin.waiting.clear();
        match run.stdin.told(waiting) {
            0 => {}
            told => self.connection.send(&Answer::Taken { id: run.id, bytes: told as u32 }),
        }
    }

    /// Gives a program of its input what its pipe takes.
    pub(super) fn feed(&mut self, key: BodyKey) {
        let Some(body) = self.bodies.get_mut(&key) else { return };
        let (Some(pipe), Some(run)) = (&body.stdin, &mut body.run) else { return };
        let mut taken = 0;
        while !run.stdin.waiting.is_empty() {
            match write(pipe, run.stdin.waiting.as_slices().0) {
                Ok(count) => {
                    run.stdin.waiting.drain(..count);
                    taken += count;
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => break,
                Err(_) => return self.stop_feeding(key),
            }
        }
        let told = run.stdin.told(taken);
        let done = run.stdin.waiting.is_empty() && run.stdin.closed;
        let wanted = if run.stdin.waiting.is_empty() { Interest::Nothing } else { Interest::Write };
        self.poll.change(pipe, Token::Stdin(key), wanted);
        if told > 0 {
            self.connection.send(&Answer::Taken { id: run.id, bytes: told as u32 });
        }
        if done {
            body.stdin = None;
        }
    }

    /// Passes one piece of output on, if there is one. Says whether there may be more.
    pub(super) fn read_output(&mut self, key: BodyKey, stream: Stream) -> bool {
        let Some(body) = self.bodies.get_mut(&key) else { return false };
        let Some(pipe) = body.output(stream) else { return false };
        let mut buffer = [0; CHUNK / 4];
        let count = match read(pipe, &mut buffer) {
            Ok(0) => {
                body.close_output(stream);
                return false;
            }
            Ok(count) => count,
            Err(Errno::EINTR) => return true,
            Err(Errno::EAGAIN) => return false,
            Err(_) => {
                body.close_output(stream);
                return false;
            }
        };
        // What a session prints between its runs is nobody's.
        let Some(run) = body.run.as_mut() else { return true };
        let was_truncated = run.truncated;
        let allowed = run.allow(stream, count);
        if allowed > 0 {
            let bytes = buffer[..allowed].to_vec().into();
            self.connection.send(&Answer::Output { id: run.id, stream, bytes });
        }
        if run.truncated && !was_truncated {
            self.kill(key);
        }
        true
    }
}

fn spawn(
    argv: &[String],
    env: &[(String, String)],
    cwd: &str,
    ends: &Ends,
    control: Option<&OwnedFd>,
) -> Result<Pid, NotSpawned> {
    let mut fds = vec![ends.stdin.as_fd(), ends.stdout.as_fd(), ends.stderr.as_fd()];
    fds.extend(control.map(AsFd::as_fd));
    Program { argv, env, cwd, fds: &fds }.spawn()
}

/// Puts a source into a file that goes with its run.
fn store(run: &mut Run, language: Language, source: &[u8]) -> Result<String, Failure> {
    let stored = interpreters::store(&run.id.to_string(), language, source);
    let (folder, file) = stored.map_err(|error| files::failure("the code", &error))?;
    run.source = Some(folder);
    file.into_os_string().into_string().map_err(|_| files::failure("the code", &io::ErrorKind::InvalidData.into()))
}

fn invalid(message: &str) -> Failure {
    Failure { kind: FailureKind::Invalid, message: message.to_owned() }
}

fn zero() -> Failure {
    invalid("a zero byte in an argument, a variable or a path")
}

fn full(what: &str, error: Errno) -> Failure {
    Failure { kind: FailureKind::Full, message: format!("{what}: {}", error.desc()) }
}
