//! A process that the agent started: it runs an exec, is kept between the runs of a session, or
//! waits for a program.
//!
//! ```text
//! Once: running -> gone        Spare: waiting -> (becomes Once)        Session: idle <-> running -> gone
//! ```
//! Invariant: `run` is there exactly while an exec has been asked for and not been answered by its `Exit`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use hearth_sandbox_agent::{Language, OutputStream};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::{Pid, pipe2};

use crate::exec_state::ExecState;
use crate::interpreter::Interpreter;
use crate::poll::PollToken;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChildId(pub u32);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildKind {
    Once,
    /// An interpreter that has started and waits for a program.
    Spare(Interpreter),
    Session {
        language: Language,
        name: String,
    },
}

pub struct ChildProcess {
    pub kind: ChildKind,
    /// `None` until the fork server has reported it.
    pub pid: Option<Pid>,
    /// Killed, or to be killed as soon as its pid is known.
    pub being_killed: bool,
    pub stdin: Option<OwnedFd>,
    pub stdout: Option<OwnedFd>,
    pub stderr: Option<OwnedFd>,
    pub control: Option<OwnedFd>,
    /// A line from `control` that is not complete yet.
    pub said: Vec<u8>,
    pub run: Option<ExecState>,
    /// Runs after the cancelled exec has ended; sessions only.
    pub next: Option<(ExecState, Vec<u8>)>,
}

/// The child's ends of its streams.
pub struct Ends {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// A process's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feed {
    Nothing,
    Pipe,
}

impl ChildProcess {
    /// With new pipes. The agent's ends do not block.
    pub fn new(kind: ChildKind, feed: Feed) -> nix::Result<(Self, Ends)> {
        let (stdout, their_stdout) = pipe2(OFlag::O_CLOEXEC)?;
        let (stderr, their_stderr) = pipe2(OFlag::O_CLOEXEC)?;
        let (their_stdin, stdin) = match feed {
            Feed::Nothing => (null()?, None),
            Feed::Pipe => pipe2(OFlag::O_CLOEXEC).map(|(theirs, ours)| (theirs, Some(ours)))?,
        };
        for ours in [Some(&stdout), Some(&stderr), stdin.as_ref()].into_iter().flatten() {
            fcntl(ours, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        let child = Self {
            kind,
            pid: None,
            being_killed: false,
            stdin,
            stdout: Some(stdout),
            stderr: Some(stderr),
            control: None,
            said: Vec::new(),
            run: None,
            next: None,
        };
        Ok((child, Ends { stdin: their_stdin, stdout: their_stdout, stderr: their_stderr }))
    }

    pub fn is_session(&self) -> bool {
        matches!(self.kind, ChildKind::Session { .. })
    }

    pub fn output(&self, stream: OutputStream) -> Option<&OwnedFd> {
        match stream {
            OutputStream::Stdout => self.stdout.as_ref(),
            OutputStream::Stderr => self.stderr.as_ref(),
        }
    }

    pub fn close_output(&mut self, stream: OutputStream) {
        match stream {
            OutputStream::Stdout => self.stdout = None,
            OutputStream::Stderr => self.stderr = None,
        }
    }
}

// === impl Ends ===

impl Ends {
    /// In the order of their numbers.
    pub fn standard(&self) -> [BorrowedFd<'_>; 3] {
        [self.stdin.as_fd(), self.stdout.as_fd(), self.stderr.as_fd()]
    }

    /// The same, and a socket after them.
    pub fn with<'a>(&'a self, control: BorrowedFd<'a>) -> [BorrowedFd<'a>; 4] {
        let [stdin, stdout, stderr] = self.standard();
        [stdin, stdout, stderr, control]
    }
}

/// `/dev/null`.
pub fn null() -> nix::Result<OwnedFd> {
    nix::fcntl::open("/dev/null", OFlag::O_RDWR | OFlag::O_CLOEXEC, nix::sys::stat::Mode::empty())
}

/// The token of a child's output stream.
pub fn token(stream: OutputStream, key: ChildId) -> PollToken {
    match stream {
        OutputStream::Stdout => PollToken::Stdout(key),
        OutputStream::Stderr => PollToken::Stderr(key),
    }
}
