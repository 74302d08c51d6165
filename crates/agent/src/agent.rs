//! The loop, and what each request does.
//!
//! | file | |
//! |---|---|
//! | `agent/exec.rs` | what each exec is run by |
//! | `agent/spare.rs` | interpreters that wait for a program |
//! | `agent/session.rs` | interpreters that are kept |
//! | `agent/warm.rs` | who waits for interpreters to be ready, and the python that forks |
//! | `agent/stream.rs` | input, output and signals of what runs |
//! | `agent/ending.rs` | the end of processes |
//! | `agent/memory.rs` | the memory of all processes together |
//! | `agent/tunnel.rs` | the way to the proxy outside |

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use hearth_agent::{Answer, CHUNK, CallId, Failure, Request, Stream, VERSION};
use hearth_jail::sched::{ChildSlice, set_short_slice};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::body::{Body, BodyKey};
use crate::connection::{Connection, Lost};
use crate::engine::Engine;
use crate::files;
use crate::interpreters::Interpreters;
use crate::poll::{Event, Interest, Poll, Token};
use crate::python::Python;
use crate::write::Writes;

mod ending;
mod exec;
mod memory;
mod session;
mod spare;
mod stream;
mod tunnel;
mod warm;

use self::memory::MemoryWatch;
use self::tunnel::Tunnel;

/// So much of a program's output is read at once.
const PIECE: usize = CHUNK / 4;

pub struct Agent {
    poll: Poll,
    connection: Connection,
    signals: SignalFd,
    _reserved: OwnedFd,
    interpreters: Interpreters,
    /// What every process finds in its environment.
    env: Vec<(String, String)>,
    bodies: HashMap<BodyKey, Body>,
    last_key: u32,
    python: Option<Python>,
    /// Who waits for interpreters to be ready, and for which.
    warming: Vec<(CallId, Vec<Engine>)>,
    /// One of each of these is kept waiting: somebody asked for it.
    kept: Vec<Engine>,
    /// When it is looked whether one is missing.
    refill_at: Option<Instant>,
    writes: Writes,
    tunnel: Option<Tunnel>,
    /// Where nothing else holds it.
    memory: Option<MemoryWatch>,
    /// Where output is read to.
    piece: Vec<u8>,
    /// What is waited for on the connection.
    listens: Interest,
    /// Programs wait until the client has read.
    is_held: bool,
}

impl Agent {
    /// Takes descriptor 0 as the connection. `memory` is what all processes may have together, where the agent is to see to it.
    pub fn start(memory: Option<u64>) -> Result<Self, Errno> {
        // Nobody else in the sandbox may look into this process or borrow its descriptors.
        nix::sys::prctl::set_dumpable(false)?;
        // It was started from a descriptor, which is no name.
        nix::sys::prctl::set_name(c"hearth-agent")?;
        // What it carries is waited for, and takes it a moment.
        set_short_slice(ChildSlice::Default);
        // The first copy is descriptor 3, which a child may get: it is never used, so that nothing else is there.
        let reserved = adopt(std::io::stdin())?;
        let connection = adopt(std::io::stdin())?;
        fcntl(&connection, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let mut deaths = SigSet::empty();
        deaths.add(Signal::SIGCHLD);
        deaths.thread_block()?;
        let signals = SignalFd::with_flags(&deaths, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let agent = Self {
            poll: Poll::new()?,
            connection: Connection::new(connection),
            signals,
            _reserved: reserved,
            interpreters: Interpreters::find(),
            env: std::env::vars().collect(),
            bodies: HashMap::new(),
            last_key: 0,
            python: None,
            warming: Vec::new(),
            kept: Vec::new(),
            refill_at: None,
            writes: Writes::default(),
            tunnel: None,
            memory: memory.map(MemoryWatch::new),
            piece: vec![0; PIECE],
            listens: Interest::Read,
            is_held: false,
        };
        agent.poll.add(agent.connection.fd(), Token::Connection, agent.listens)?;
        agent.poll.add(agent.signals.as_fd(), Token::Signals, Interest::Read)?;
        Ok(agent)
    }

    /// Until the client is gone.
    pub fn run(&mut self) -> Result<(), Errno> {
        loop {
            match self.turn() {
                Ok(()) => {}
                Err(Lost::Closed) => return Ok(()),
                Err(Lost::Broken(error)) => return Err(error),
                Err(Lost::Malformed(error)) => {
                    eprintln!("hearth-agent: {error}");
                    return Err(Errno::EPROTO);
                }
            }
        }
    }

    fn turn(&mut self) -> Result<(), Lost> {
        let left = self.next_deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()));
        for (token, event) in self.poll.wait(left).map_err(Lost::Broken)? {
            self.handle(token, event)?;
        }
        self.enforce_deadlines();
        self.connection.flush()?;
        self.hold_or_release();
        self.watch_passages();
        self.refill();
        self.watch_memory();
        Ok(())
    }

    fn handle(&mut self, token: Token, event: Event) -> Result<(), Lost> {
        match token {
            Token::Connection => {
                self.connection.flush()?;
                self.connection.fill()?;
                while let Some(request) = self.connection.request()? {
                    self.answer(request);
                }
            }
            Token::Signals => {
                while let Ok(Some(_)) = self.signals.read_signal() {}
                self.reap();
            }
            Token::Python => self.hear_python(),
            Token::Stdin(key) if event == Event::Abandoned => self.stop_feeding(key),
            Token::Stdin(key) => self.feed(key),
            Token::Stdout(key) => drop(self.read_output(key, Stream::Stdout)),
            Token::Stderr(key) => drop(self.read_output(key, Stream::Stderr)),
            Token::Control(key) => self.hear_body(key),
            Token::Door => self.admit(),
            Token::Passage(id) => self.serve_passage(id),
        }
        Ok(())
    }

    fn answer(&mut self, request: Request) {
        match request {
            Request::Hello { version: _, nonce } => {
                self.begin_anew();
                let languages = self.interpreters.languages();
                self.connection.send(&Answer::Hello { version: VERSION, nonce, languages });
            }
            Request::Ping { id } => self.connection.send(&Answer::Pong { id }),
            Request::Warm { id, languages } => self.warm(id, &languages),
            Request::Exec { id, exec } => self.exec(id, exec),
            Request::Stdin { id, bytes } => self.stdin(id, &bytes.0),
            Request::CloseStdin { id } => self.close_stdin(id),
            Request::Signal { id, signal } => self.signal(id, signal),
            Request::Cancel { id } => self.cancel(id),
            Request::EndSession { id, language, session } => {
                self.end_session(language, &session);
                self.connection.send(&Answer::Done { id });
            }
            Request::Read { id, path, offset, limit } => {
                let read = files::read(&path, offset, limit);
                self.reply(
                    id,
                    read.map(|piece| Answer::Data { id, bytes: piece.bytes.into(), end: piece.end, size: piece.size }),
                );
            }
            Request::Write { id, path, mode, missing } => {
                if let Err(failure) = self.writes.begin(id, &path, mode, missing) {
                    self.reply(id, Err(failure));
                }
            }
            Request::Chunk { id, bytes } => {
                if let Err(failure) = self.writes.chunk(id, &bytes.0) {
                    self.reply(id, Err(failure));
                }
            }
            Request::Finish { id } => {
                if let Some(finished) = self.writes.finish(id) {
                    self.reply(id, finished.map(|()| Answer::Done { id }));
                }
            }
            Request::List { id, path, after, limit } => {
                let listed = files::list(&path, after.as_deref(), limit);
                self.reply(id, listed.map(|page| Answer::Entries { id, entries: page.entries, more: page.more }));
            }
            Request::Stat { id, path } => {
                self.reply(id, files::stat(&path).map(|entry| Answer::Found { id, entry }));
            }
            Request::Remove { id, path, removal } => self.reply_done(id, files::remove(&path, removal)),
            Request::Mkdir { id, path, missing } => self.reply_done(id, files::mkdir(&path, missing)),
            Request::Rename { id, from, to } => self.reply_done(id, files::rename(&from, &to)),
            Request::Reseed { id, seed } => {
                let seeded = hearth_jail::reseed::reseed(&seed.0);
                let seeded = seeded.map_err(|error| files::failure("/dev/urandom", &error));
                self.forget_spares();
                self.reply_done(id, seeded);
            }
            Request::SetClock { id, now } => {
                let set = nix::time::clock_settime(nix::time::ClockId::CLOCK_REALTIME, now.into());
                let set = set.map_err(|error| files::failure("the clock", &error.into()));
                self.reply_done(id, set);
            }
            Request::Listen { id, port } => self.listen(id, port),
            Request::Passage { passage, word } => self.pass(passage, word),
        }
    }

    fn reply(&mut self, id: CallId, answer: Result<Answer, Failure>) {
        let answer = answer.unwrap_or_else(|failure| Answer::Failed { id, failure });
        self.connection.send(&answer);
    }

    fn reply_done(&mut self, id: CallId, done: Result<(), Failure>) {
        self.reply(id, done.map(|()| Answer::Done { id }));
    }

    /// A new client: what the one before had asked for is of no interest to anybody.
    fn begin_anew(&mut self) {
        self.writes = Writes::default();
        self.tunnel = None;
        self.warming.clear();
        let running: Vec<_> = self.bodies.iter().filter(|(_, body)| body.run.is_some()).map(|(key, _)| *key).collect();
        for key in running {
            if let Some(body) = self.bodies.get_mut(&key) {
                body.run = None;
            }
            self.kill(key);
        }
        self.connection.forget();
    }

    /// Lets programs wait while the client does not read, and go on when it does.
    fn hold_or_release(&mut self) {
        let wanted = if self.connection.has_unsent() { Interest::Both } else { Interest::Read };
        if wanted != self.listens {
            self.listens = wanted;
            self.poll.change(self.connection.fd(), Token::Connection, wanted);
        }
        let is_full = self.connection.is_full();
        if is_full == self.is_held {
            return;
        }
        self.is_held = is_full;
        let interest = self.output_interest();
        for (key, body) in &self.bodies {
            for stream in [Stream::Stdout, Stream::Stderr] {
                if let Some(fd) = body.output(stream) {
                    self.poll.change(fd, crate::body::token(stream, *key), interest);
                }
            }
        }
    }

    fn output_interest(&self) -> Interest {
        if self.is_held { Interest::Nothing } else { Interest::Read }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let running = self.bodies.values().filter_map(|body| body.run.as_ref());
        let watch = self.memory.as_ref().and_then(MemoryWatch::next);
        let rest = self.tunnel.as_ref().and_then(Tunnel::rests_until);
        let due = running.filter_map(|run| match run.kill_at {
            Some(at) => Some(at),
            None => (!run.timed_out).then_some(run.deadline),
        });
        due.chain(self.refill_at).chain(rest).chain(watch).min()
    }

    fn enforce_deadlines(&mut self) {
        let now = Instant::now();
        let (mut late, mut stubborn) = (Vec::new(), Vec::new());
        for (key, body) in &mut self.bodies {
            let Some(run) = &mut body.run else { continue };
            match run.kill_at {
                Some(at) if at <= now => {
                    run.kill_at = None;
                    stubborn.push(*key);
                }
                None if !run.timed_out && run.deadline <= now => {
                    run.timed_out = true;
                    late.push(*key);
                }
                _ => {}
            }
        }
        late.into_iter().for_each(|key| self.stop(key));
        stubborn.into_iter().for_each(|key| self.kill(key));
    }
}

/// A copy of a descriptor, closed on exec and not among the three standard ones.
fn adopt(fd: impl AsFd) -> Result<OwnedFd, Errno> {
    fd.as_fd().try_clone_to_owned().map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))
}
