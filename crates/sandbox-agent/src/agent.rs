//! The loop, and what each request does.
//!
//! | file | |
//! |---|---|
//! | `agent/exec.rs` | starting execs |
//! | `agent/spare.rs` | interpreters that wait for a program |
//! | `agent/session.rs` | interpreters that keep their variables |
//! | `agent/prewarm.rs` | prewarm requests, and the fork server |
//! | `agent/stream.rs` | input, output and signals of what runs |
//! | `agent/reap.rs` | the end of processes |
//! | `agent/memory.rs` | the memory of all processes together |
//! | `agent/tunnel.rs` | the tunnel to the proxy outside |

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use hearth_sandbox_agent::{AgentCallId, AgentReply, AgentRequest, CHUNK, CallFailure, OutputStream, VERSION};
use hearth_sys::sched::{ChildSlice, set_short_slice};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::child::{ChildId, ChildProcess};
use crate::connection::{HostConnection, Lost};
use crate::file_writer::FileWriters;
use crate::files;
use crate::fork_server::ForkServer;
use crate::interpreter::Interpreter;
use crate::interpreters::Interpreters;
use crate::poll::{Interest, Poll, PollEvent, PollToken};

mod exec;
mod memory;
mod prewarm;
mod reap;
mod session;
mod spare;
mod stream;
mod tunnel;

use self::memory::MemoryWatch;
use self::tunnel::Tunnel;

/// Bytes of output that are read at once.
const READ_SIZE: usize = CHUNK / 4;

pub struct Agent {
    poll: Poll,
    connection: HostConnection,
    signals: SignalFd,
    _reserved: OwnedFd,
    interpreters: Interpreters,
    /// The environment of every process.
    env: Vec<(String, String)>,
    children: HashMap<ChildId, ChildProcess>,
    last_key: u32,
    fork_server: Option<ForkServer>,
    /// Prewarm requests that are not answered yet, with the interpreters that they wait for.
    prewarm_waiters: Vec<(AgentCallId, Vec<Interpreter>)>,
    /// Interpreters of which one spare each is kept waiting.
    wanted_spares: Vec<Interpreter>,
    /// When missing spares are started.
    refill_at: Option<Instant>,
    file_writers: FileWriters,
    tunnel: Option<Tunnel>,
    /// Where nothing else limits memory.
    memory: Option<MemoryWatch>,
    /// Buffer for output.
    read_buffer: Vec<u8>,
    /// What the loop waits for on the connection.
    connection_interest: Interest,
    /// Output is not read until the client has read more.
    output_paused: bool,
}

impl Agent {
    /// Takes descriptor 0 as the connection. `memory` is the limit of all processes together, where
    /// the agent is to enforce one.
    pub fn start(memory: Option<u64>) -> Result<Self, Errno> {
        // Not dumpable: no other process of the sandbox may look into this one or borrow its
        // descriptors.
        nix::sys::prctl::set_dumpable(false)?;
        // It was started from a descriptor, which gives no name.
        nix::sys::prctl::set_name(c"hearth-agent")?;
        // Programs wait for the data that the agent passes on, which takes it a moment.
        set_short_slice(ChildSlice::Default);
        // The first copy is descriptor 3, a number that children may get: it is reserved so that
        // nothing else has it.
        let reserved = dup(std::io::stdin())?;
        let connection = dup(std::io::stdin())?;
        fcntl(&connection, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let mut deaths = SigSet::empty();
        deaths.add(Signal::SIGCHLD);
        deaths.thread_block()?;
        let signals = SignalFd::with_flags(&deaths, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        let agent = Self {
            poll: Poll::new()?,
            connection: HostConnection::new(connection),
            signals,
            _reserved: reserved,
            interpreters: Interpreters::find(),
            env: std::env::vars().collect(),
            children: HashMap::new(),
            last_key: 0,
            fork_server: None,
            prewarm_waiters: Vec::new(),
            wanted_spares: Vec::new(),
            refill_at: None,
            file_writers: FileWriters::default(),
            tunnel: None,
            memory: memory.map(MemoryWatch::new),
            read_buffer: vec![0; READ_SIZE],
            connection_interest: Interest::Read,
            output_paused: false,
        };
        agent.poll.add(agent.connection.fd(), PollToken::Connection, agent.connection_interest)?;
        agent.poll.add(agent.signals.as_fd(), PollToken::Signals, Interest::Read)?;
        Ok(agent)
    }

    /// Runs until the client is gone.
    pub fn run(&mut self) -> Result<(), Errno> {
        loop {
            match self.poll_once() {
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

    fn poll_once(&mut self) -> Result<(), Lost> {
        let left = self.next_deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()));
        for (token, event) in self.poll.wait(left).map_err(Lost::Broken)? {
            self.handle(token, event)?;
        }
        self.enforce_deadlines();
        self.connection.flush()?;
        self.update_backpressure();
        self.watch_tunnel();
        self.refill();
        self.watch_memory();
        Ok(())
    }

    fn handle(&mut self, token: PollToken, event: PollEvent) -> Result<(), Lost> {
        match token {
            PollToken::Connection => {
                self.connection.flush()?;
                self.connection.read()?;
                while let Some(request) = self.connection.request()? {
                    self.handle_request(request);
                }
            }
            PollToken::Signals => {
                while let Ok(Some(_)) = self.signals.read_signal() {}
                self.reap();
            }
            PollToken::ForkServer => self.read_fork_server(),
            PollToken::Stdin(key) if event == PollEvent::PeerClosed => self.stop_feeding(key),
            PollToken::Stdin(key) => self.feed(key),
            PollToken::Stdout(key) => drop(self.read_output(key, OutputStream::Stdout)),
            PollToken::Stderr(key) => drop(self.read_output(key, OutputStream::Stderr)),
            PollToken::Control(key) => self.read_control(key),
            PollToken::TunnelListener => self.accept_tunnel(),
            PollToken::TunnelConn(id) => self.serve_tunnel_conn(id),
        }
        Ok(())
    }

    fn handle_request(&mut self, request: AgentRequest) {
        match request {
            AgentRequest::Hello { version: _, nonce } => {
                self.reset();
                let languages = self.interpreters.languages();
                self.connection.send(&AgentReply::Hello { version: VERSION, nonce, languages });
            }
            AgentRequest::Ping { id } => self.connection.send(&AgentReply::Pong { id }),
            AgentRequest::Warm { id, languages } => self.prewarm(id, &languages),
            AgentRequest::Exec { id, exec } => self.exec(id, exec),
            AgentRequest::Stdin { id, bytes } => self.stdin(id, &bytes.0),
            AgentRequest::CloseStdin { id } => self.close_stdin(id),
            AgentRequest::Signal { id, signal } => self.signal(id, signal),
            AgentRequest::Cancel { id } => self.cancel(id),
            AgentRequest::EndSession { id, language, session } => {
                self.end_session(language, &session);
                self.connection.send(&AgentReply::Done { id });
            }
            AgentRequest::Read { id, path, offset, limit } => {
                let read = files::read(&path, offset, limit);
                self.reply(
                    id,
                    read.map(|piece| AgentReply::Data {
                        id,
                        bytes: piece.bytes.into(),
                        end: piece.end,
                        size: piece.size,
                    }),
                );
            }
            AgentRequest::Write { id, path, mode, missing } => {
                if let Err(failure) = self.file_writers.begin(id, &path, mode, missing) {
                    self.reply(id, Err(failure));
                }
            }
            AgentRequest::Chunk { id, bytes } => {
                if let Err(failure) = self.file_writers.chunk(id, &bytes.0) {
                    self.reply(id, Err(failure));
                }
            }
            AgentRequest::Finish { id } => {
                if let Some(finished) = self.file_writers.finish(id) {
                    self.reply(id, finished.map(|()| AgentReply::Done { id }));
                }
            }
            AgentRequest::List { id, path, after, limit } => {
                let listed = files::list(&path, after.as_deref(), limit);
                self.reply(id, listed.map(|page| AgentReply::Entries { id, entries: page.entries, more: page.more }));
            }
            AgentRequest::Stat { id, path } => {
                self.reply(id, files::stat(&path).map(|entry| AgentReply::Found { id, entry }));
            }
            AgentRequest::Remove { id, path, removal } => self.reply_done(id, files::remove(&path, removal)),
            AgentRequest::Mkdir { id, path, missing } => self.reply_done(id, files::mkdir(&path, missing)),
            AgentRequest::Rename { id, from, to } => self.reply_done(id, files::rename(&from, &to)),
            AgentRequest::Reseed { id, seed } => {
                let seeded = hearth_sys::reseed::reseed(&seed.0);
                let seeded = seeded.map_err(|error| files::failure("/dev/urandom", &error));
                self.discard_node_spares();
                self.reply_done(id, seeded);
            }
            AgentRequest::SetClock { id, now } => {
                let set = nix::time::clock_settime(nix::time::ClockId::CLOCK_REALTIME, now.into());
                let set = set.map_err(|error| files::failure("the clock", &error.into()));
                self.reply_done(id, set);
            }
            AgentRequest::Listen { id, port } => self.listen(id, port),
            AgentRequest::Tunnel { conn, message: word } => self.handle_tunnel_message(conn, word),
        }
    }

    fn reply(&mut self, id: AgentCallId, answer: Result<AgentReply, CallFailure>) {
        let answer = answer.unwrap_or_else(|failure| AgentReply::Failed { id, failure });
        self.connection.send(&answer);
    }

    fn reply_done(&mut self, id: AgentCallId, done: Result<(), CallFailure>) {
        self.reply(id, done.map(|()| AgentReply::Done { id }));
    }

    /// For a new client: ends and discards what the previous client had requested.
    fn reset(&mut self) {
        self.file_writers = FileWriters::default();
        self.tunnel = None;
        self.prewarm_waiters.clear();
        let running: Vec<_> =
            self.children.iter().filter(|(_, child)| child.run.is_some()).map(|(key, _)| *key).collect();
        for key in running {
            if let Some(child) = self.children.get_mut(&key) {
                child.run = None;
            }
            self.kill(key);
        }
        self.connection.discard_unsent();
    }

    /// Stops reading output while the client does not read, and resumes when it does.
    fn update_backpressure(&mut self) {
        let wanted = if self.connection.has_unsent() { Interest::Both } else { Interest::Read };
        if wanted != self.connection_interest {
            self.connection_interest = wanted;
            self.poll.change(self.connection.fd(), PollToken::Connection, wanted);
        }
        let is_full = self.connection.is_full();
        if is_full == self.output_paused {
            return;
        }
        self.output_paused = is_full;
        let interest = self.output_interest();
        for (key, child) in &self.children {
            for stream in [OutputStream::Stdout, OutputStream::Stderr] {
                if let Some(fd) = child.output(stream) {
                    self.poll.change(fd, crate::child::token(stream, *key), interest);
                }
            }
        }
    }

    fn output_interest(&self) -> Interest {
        if self.output_paused { Interest::Nothing } else { Interest::Read }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let running = self.children.values().filter_map(|child| child.run.as_ref());
        let watch = self.memory.as_ref().and_then(MemoryWatch::next);
        let rest = self.tunnel.as_ref().and_then(Tunnel::paused_until);
        let due = running.filter_map(|run| match run.kill_at {
            Some(at) => Some(at),
            None => (!run.timed_out).then_some(run.deadline),
        });
        due.chain(self.refill_at).chain(rest).chain(watch).min()
    }

    fn enforce_deadlines(&mut self) {
        let now = Instant::now();
        let (mut late, mut stubborn) = (Vec::new(), Vec::new());
        for (key, child) in &mut self.children {
            let Some(run) = &mut child.run else { continue };
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
fn dup(fd: impl AsFd) -> Result<OwnedFd, Errno> {
    fd.as_fd().try_clone_to_owned().map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))
}
