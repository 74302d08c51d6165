//! A python that has started, holds what most programs import, and forks for each run: a fresh process each time, in a
//! tenth of the time that a start takes. Sessions are its forks, too.
//!
//! The interpreter reaps its own forks and says how they ended. If it dies, its forks become the agent's own children and
//! are reaped as such; the next run starts another interpreter.

use std::io::IoSlice;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, sendmsg, socketpair};
use nix::unistd::{Pid, read};

use crate::body::{BodyKey, Ends, null};
use crate::interpreters::{PYTHON_ZYGOTE, script};
use crate::spawn::Program;

/// Kind, number of the body, value.
const MESSAGE: usize = 13;
/// Longer requests might not fit into the socket, and the agent must not wait: they take the slow way.
const LONGEST: usize = 64 << 10;

pub struct Python {
    pub pid: Pid,
    socket: OwnedFd,
    /// It has said that it waits for work.
    pub is_ready: bool,
    heard: Vec<u8>,
}

/// What the interpreter says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    Ready,
    Forked(BodyKey, Pid),
    /// With the status as `waitpid` gives it.
    Ended(BodyKey, i32),
}

/// What a fork is for.
#[derive(Debug, Clone, Copy)]
pub enum Fork<'a> {
    Run,
    /// Serves runs that come over this socket.
    Session(BorrowedFd<'a>),
}

impl Python {
    pub fn start(python: &str, env: &[(String, String)]) -> Option<Self> {
        let path = script("zygote.py", PYTHON_ZYGOTE).ok()?;
        let (ours, theirs) = control()?;
        let null = null().ok()?;
        let argv = [python.to_owned(), path];
        let fds = [&null, &null, &null, &theirs].map(std::os::fd::AsFd::as_fd);
        let pid = Program { argv: &argv, env, cwd: "/", fds: &fds }.spawn().ok()?;
        Some(Self { pid, socket: ours, is_ready: false, heard: Vec::new() })
    }

    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Asks for a fork. One that is deaf is of no use any more.
    pub fn fork(&self, key: BodyKey, fork: Fork<'_>, ends: &Ends, request: &[u8]) -> Result<(), Unheard> {
        if request.len() > LONGEST {
            return Err(Unheard::TooLong);
        }
        let mut fds: Vec<RawFd> = [&ends.stdin, &ends.stdout, &ends.stderr].map(AsRawFd::as_raw_fd).to_vec();
        if let Fork::Session(control) = fork {
            fds.push(control.as_raw_fd());
        }
        let mut body = key.0.to_string().into_bytes();
        body.push(0);
        body.extend_from_slice(request);
        let length = (body.len() as u32).to_le_bytes();
        let parts = [IoSlice::new(&length), IoSlice::new(&body)];
        let rights = [ControlMessage::ScmRights(&fds)];
        match sendmsg::<()>(self.socket.as_raw_fd(), &parts, &rights, MsgFlags::MSG_NOSIGNAL, None) {
            Ok(sent) if sent == length.len() + body.len() => Ok(()),
            _ => Err(Unheard::Deaf),
        }
    }

    /// What it has said since. `None`: it is gone.
    pub fn listen(&mut self) -> Option<Vec<Heard>> {
        let mut buffer = [0; 4096];
        loop {
            match read(&self.socket, &mut buffer) {
                Ok(0) => return None,
                Ok(count) => self.heard.extend_from_slice(&buffer[..count]),
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                Err(_) => return None,
            }
        }
        let whole = self.heard.len() - self.heard.len() % MESSAGE;
        let heard = self.heard.drain(..whole).collect::<Vec<_>>();
        Some(heard.chunks_exact(MESSAGE).filter_map(Heard::parse).collect())
    }
}

/// Why no fork was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unheard {
    TooLong,
    Deaf,
}

/// A socket pair; the agent's end does not block.
pub fn control() -> Option<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC).ok()?;
    fcntl(&ours, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).ok()?;
    Some((ours, theirs))
}

// === impl Heard ===

impl Heard {
    fn parse(message: &[u8]) -> Option<Self> {
        let key = BodyKey(u64::from_le_bytes(message.get(1..9)?.try_into().ok()?) as u32);
        let value = i32::from_le_bytes(message.get(9..13)?.try_into().ok()?);
        Some(match message.first()? {
            b'R' => Self::Ready,
            b'F' => Self::Forked(key, Pid::from_raw(value)),
            b'E' => Self::Ended(key, value),
            _ => return None,
        })
    }
}
