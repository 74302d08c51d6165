//! What the loop waits for. Each descriptor is registered with a token that says what it is; a
//! token whose owner is gone is ignored, so an event that was already under way when something
//! ended does no harm.

use std::os::fd::AsFd;
use std::time::Duration;

use hearth_sandbox_agent::TunnelConnId;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::child::ChildId;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollToken {
    Connection,
    /// A child has ended.
    Signals,
    /// The fork server's socket.
    ForkServer,
    Stdin(ChildId),
    Stdout(ChildId),
    Stderr(ChildId),
    /// A session's socket, over which it reports its runs.
    Control(ChildId),
    /// The tunnel's listener.
    TunnelListener,
    TunnelConn(TunnelConnId),
}

/// What happened to a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollEvent {
    /// What was waited for.
    Ready,
    /// The other end is closed, which epoll always reports.
    PeerClosed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    Nothing,
    Read,
    Write,
    Both,
}

pub struct Poll {
    epoll: Epoll,
    events: Vec<EpollEvent>,
}

impl Poll {
    pub fn new() -> Result<Self, Errno> {
        Ok(Self { epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?, events: vec![EpollEvent::empty(); 64] })
    }

    pub fn add(&self, fd: impl AsFd, token: PollToken, interest: Interest) -> Result<(), Errno> {
        self.epoll.add(fd, EpollEvent::new(interest.flags(), token.number()))
    }

    pub fn change(&self, fd: impl AsFd, token: PollToken, interest: Interest) {
        // Fails only for a descriptor that is not registered, and then there is nothing to change.
        let _ = self.epoll.modify(fd, &mut EpollEvent::new(interest.flags(), token.number()));
    }

    /// Changes what is waited for from `before` to `wanted`. `Nothing` is not registered, so that
    /// not even the closing of the other end is reported.
    pub fn watch(&self, fd: impl AsFd, token: PollToken, before: Interest, wanted: Interest) -> Result<(), Errno> {
        match (before, wanted) {
            (before, wanted) if before == wanted => Ok(()),
            (Interest::Nothing, wanted) => self.add(fd, token, wanted),
            (_, Interest::Nothing) => self.epoll.delete(fd),
            (_, wanted) => {
                self.change(fd, token, wanted);
                Ok(())
            }
        }
    }

    /// Waits for events, at most for `timeout`.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Vec<(PollToken, PollEvent)>, Errno> {
        // Rounded up: waking early would only mean waiting again.
        let timeout = match timeout {
            Some(left) => EpollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(EpollTimeout::MAX),
            None => EpollTimeout::NONE,
        };
        match self.epoll.wait(&mut self.events, timeout) {
            Ok(count) => Ok(self.events[..count].iter().filter_map(decode).collect()),
            Err(Errno::EINTR) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

fn decode(event: &EpollEvent) -> Option<(PollToken, PollEvent)> {
    let is_abandoned = event.events().intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP);
    Some((PollToken::from_number(event.data())?, if is_abandoned { PollEvent::PeerClosed } else { PollEvent::Ready }))
}

// === impl PollToken ===

impl PollToken {
    fn number(self) -> u64 {
        let (kind, key) = match self {
            PollToken::Connection => (0, 0),
            PollToken::Signals => (1, 0),
            PollToken::ForkServer => (2, 0),
            PollToken::Stdin(key) => (3, key.0),
            PollToken::Stdout(key) => (4, key.0),
            PollToken::Stderr(key) => (5, key.0),
            PollToken::Control(key) => (6, key.0),
            PollToken::TunnelListener => (7, 0),
            PollToken::TunnelConn(id) => (8, id.0),
        };
        kind << 32 | u64::from(key)
    }

    fn from_number(number: u64) -> Option<Self> {
        let key = ChildId(number as u32);
        Some(match number >> 32 {
            0 => PollToken::Connection,
            1 => PollToken::Signals,
            2 => PollToken::ForkServer,
            3 => PollToken::Stdin(key),
            4 => PollToken::Stdout(key),
            5 => PollToken::Stderr(key),
            6 => PollToken::Control(key),
            7 => PollToken::TunnelListener,
            8 => PollToken::TunnelConn(TunnelConnId(number as u32)),
            _ => return None,
        })
    }
}

// === impl Interest ===

impl Interest {
    fn flags(self) -> EpollFlags {
        match self {
            Interest::Nothing => EpollFlags::empty(),
            Interest::Read => EpollFlags::EPOLLIN,
            Interest::Write => EpollFlags::EPOLLOUT,
            Interest::Both => EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT,
        }
    }
}
