//! The fork server: a python that has imported what most programs import, and forks: a fresh
//! process in a tenth of the time of a start. A fork waits for its program (a spare), or keeps its
//! variables for many runs (a session).
//!
//! The server reaps its own forks and reports how they ended. If it dies, its forks become the
//! agent's own children and are reaped as such; the next request starts another server.

use std::io::IoSlice;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, sendmsg, socketpair};
use nix::unistd::{Pid, read};

use crate::child::{ChildId, Ends, null};
use crate::interpreters::{PYTHON_ZYGOTE, script};
use crate::spawn::Program;

/// Kind, id of the child, value.
const MESSAGE: usize = 13;

pub struct ForkServer {
    pub pid: Pid,
    socket: OwnedFd,
    heard: Vec<u8>,
}

/// A message of the fork server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkServerEvent {
    Forked(ChildId, Pid),
    /// With the status as `waitpid` gives it.
    Ended(ChildId, i32),
}

/// What a fork is for.
#[derive(Debug, Clone, Copy)]
pub enum ForkRequest<'a> {
    /// Reads its program from its input.
    Spare,
    /// Serves runs that come over its socket, starting in the folder and with the variables of this
    /// request.
    Session(&'a [u8]),
}

/// The fork server is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForkServerGone;

/// Whether the socket is still open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    Open,
    Closed,
}

impl ForkServer {
    pub fn start(python: &str, env: &[(String, String)]) -> Option<Self> {
        let path = script("zygote.py", PYTHON_ZYGOTE).ok()?;
        let (ours, theirs) = control()?;
        let null = null().ok()?;
        let argv = [python.to_owned(), path];
        let fds = [&null, &null, &null, &theirs].map(AsFd::as_fd);
        let pid = Program { argv: &argv, env, cwd: "/", fds: &fds }.spawn().ok()?;
        Some(Self { pid, socket: ours, heard: Vec::new() })
    }

    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Requests a fork with these standard descriptors and this socket.
    pub fn fork(
        &self,
        key: ChildId,
        fork: ForkRequest<'_>,
        ends: &Ends,
        control: BorrowedFd<'_>,
    ) -> Result<(), ForkServerGone> {
        let fds = ends.with(control).map(|fd| fd.as_raw_fd());
        let (kind, request) = match fork {
            ForkRequest::Spare => ("spare", &[][..]),
            ForkRequest::Session(request) => ("session", request),
        };
        let mut child = format!("{}\0{kind}\0", key.0).into_bytes();
        child.extend_from_slice(request);
        let length = (child.len() as u32).to_le_bytes();
        let parts = [IoSlice::new(&length), IoSlice::new(&child)];
        let rights = [ControlMessage::ScmRights(&fds)];
        match sendmsg::<()>(self.socket.as_raw_fd(), &parts, &rights, MsgFlags::MSG_NOSIGNAL, None) {
            Ok(sent) if sent == length.len() + child.len() => Ok(()),
            _ => Err(ForkServerGone),
        }
    }

    /// Its messages since the last call.
    pub fn listen(&mut self) -> (Vec<ForkServerEvent>, Line) {
        let mut buffer = [0; 4096];
        let line = loop {
            match read(&self.socket, &mut buffer) {
                Ok(0) => break Line::Closed,
                Ok(count) => self.heard.extend_from_slice(&buffer[..count]),
                Err(Errno::EAGAIN) => break Line::Open,
                Err(Errno::EINTR) => {}
                Err(_) => break Line::Closed,
            }
        };
        let whole = self.heard.len() - self.heard.len() % MESSAGE;
        let heard = self.heard.drain(..whole).collect::<Vec<_>>();
        (heard.chunks_exact(MESSAGE).filter_map(ForkServerEvent::parse).collect(), line)
    }
}

/// A socket pair; the agent's end does not block.
pub fn control() -> Option<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC).ok()?;
    fcntl(&ours, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).ok()?;
    Some((ours, theirs))
}

// === impl ForkServerEvent ===

impl ForkServerEvent {
    fn parse(message: &[u8]) -> Option<Self> {
        let key = ChildId(u64::from_le_bytes(message.get(1..9)?.try_into().ok()?) as u32);
        let value = i32::from_le_bytes(message.get(9..13)?.try_into().ok()?);
        Some(match message.first()? {
            b'F' => Self::Forked(key, Pid::from_raw(value)),
            b'E' => Self::Ended(key, value),
            _ => return None,
        })
    }
}
