//! A process that the agent started: it runs an exec, or is kept between the runs of a session, or waits to be used.
//!
//! ```text
//! Once: running -> gone        Spare: waiting -> (becomes Once)        Session: idle <-> running -> gone
//! ```
//! Invariant: `run` is there exactly while an exec has been asked for and not been answered by its `Exit`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use hearth_agent::{Language, Stream};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::{Pid, pipe2};

use crate::engine::Engine;
use crate::poll::Token;
use crate::run::Run;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BodyKey(pub u32);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Once,
    /// An interpreter that has started and waits for a program.
    Spare(Engine),
    Session {
        language: Language,
        name: String,
    },
}

pub struct Body {
    pub kind: Kind,
    /// Not known until the python interpreter has said whom it forked.
    pub pid: Option<Pid>,
    /// To be killed as soon as its pid is known.
    pub is_doomed: bool,
    pub stdin: Option<OwnedFd>,
    pub stdout: Option<OwnedFd>,
    pub stderr: Option<OwnedFd>,
    pub control: Option<OwnedFd>,
    /// A line of `control` that is not whole yet.
    pub said: Vec<u8>,
    pub run: Option<Run>,
    /// Runs when what was cancelled has ended; of a session only.
    pub next: Option<(Run, Vec<u8>)>,
}

/// The ends of a body's streams that its process gets.
pub struct Ends {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// What a process finds as its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feed {
    Nothing,
    Pipe,
}

impl Body {
    /// With new pipes. The agent's ends do not block.
    pub fn new(kind: Kind, feed: Feed) -> nix::Result<(Self, Ends)> {
        let (stdout, their_stdout) = pipe2(OFlag::O_CLOEXEC)?;
        let (stderr, their_stderr) = pipe2(OFlag::O_CLOEXEC)?;
        let (their_stdin, stdin) = match feed {
            Feed::Nothing => (null()?, None),
            Feed::Pipe => pipe2(OFlag::O_CLOEXEC).map(|(theirs, ours)| (theirs, Some(ours)))?,
        };
        for ours in [Some(&stdout), Some(&stderr), stdin.as_ref()].into_iter().flatten() {
            fcntl(ours, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        let body = Self {
            kind,
            pid: None,
            is_doomed: false,
            stdin,
            stdout: Some(stdout),
            stderr: Some(stderr),
            control: None,
            said: Vec::new(),
            run: None,
            next: None,
        };
        Ok((body, Ends { stdin: their_stdin, stdout: their_stdout, stderr: their_stderr }))
    }

    pub fn is_session(&self) -> bool {
        matches!(self.kind, Kind::Session { .. })
    }

    pub fn output(&self, stream: Stream) -> Option<&OwnedFd> {
        match stream {
            Stream::Stdout => self.stdout.as_ref(),
            Stream::Stderr => self.stderr.as_ref(),
        }
    }

    pub fn close_output(&mut self, stream: Stream) {
        match stream {
            Stream::Stdout => self.stdout = None,
            Stream::Stderr => self.stderr = None,
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

/// A descriptor that gives nothing and takes everything.
pub fn null() -> nix::Result<OwnedFd> {
    nix::fcntl::open("/dev/null", OFlag::O_RDWR | OFlag::O_CLOEXEC, nix::sys::stat::Mode::empty())
}

/// The token under which a body's stream is waited for.
pub fn token(stream: Stream, key: BodyKey) -> Token {
    match stream {
        Stream::Stdout => Token::Stdout(key),
        Stream::Stderr => Token::Stderr(key),
    }
}
