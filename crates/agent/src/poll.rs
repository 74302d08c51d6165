//! What the loop waits for. Each descriptor is registered with a token that says what it is; a token whose owner is gone is
//! ignored, so an event that was already under way when something ended does no harm.

use std::os::fd::AsFd;
use std::time::Duration;

use hearth_agent::PassageId;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::body::BodyKey;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    Connection,
    /// Somebody died.
    Signals,
    /// The python interpreter that forks.
    Python,
    Stdin(BodyKey),
    Stdout(BodyKey),
    Stderr(BodyKey),
    /// What a session says of its runs.
    Control(BodyKey),
    /// Where programs find the way out.
    Door,
    Passage(PassageId),
}

/// What happened to a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// What was waited for.
    Ready,
    /// The other end is gone, which is always told.
    Abandoned,
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

    pub fn add(&self, fd: impl AsFd, token: Token, interest: Interest) -> Result<(), Errno> {
        self.epoll.add(fd, EpollEvent::new(interest.flags(), token.number()))
    }

    pub fn change(&self, fd: impl AsFd, token: Token, interest: Interest) {
        // Fails only for what is not registered, and then there is nothing to change.
        let _ = self.epoll.modify(fd, &mut EpollEvent::new(interest.flags(), token.number()));
    }

    /// From what was waited for to what is to be. Nothing is not registered: not even the other end's going is told.
    pub fn watch(&self, fd: impl AsFd, token: Token, before: Interest, wanted: Interest) -> Result<(), Errno> {
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
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Vec<(Token, Event)>, Errno> {
        // Rounded up: waking early would only mean to wait again.
        let timeout = match timeout {
            Some(left) => EpollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(EpollTimeout::MAX),
            None => EpollTimeout::NONE,
        };
        match self.epoll.wait(&mut self.events, timeout) {
            Ok(count) => Ok(self.events[..count].iter().filter_map(told).collect()),
            Err(Errno::EINTR) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

fn told(event: &EpollEvent) -> Option<(Token, Event)> {
    let is_abandoned = event.events().intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP);
    Some((Token::from_number(event.data())?, if is_abandoned { Event::Abandoned } else { Event::Ready }))
}

// === impl Token ===

impl Token {
    fn number(self) -> u64 {
        let (kind, key) = match self {
            Token::Connection => (0, 0),
            Token::Signals => (1, 0),
            Token::Python => (2, 0),
            Token::Stdin(key) => (3, key.0),
            Token::Stdout(key) => (4, key.0),
            Token::Stderr(key) => (5, key.0),
            Token::Control(key) => (6, key.0),
            Token::Door => (7, 0),
            Token::Passage(id) => (8, id.0),
        };
        kind << 32 | u64::from(key)
    }

    fn from_number(number: u64) -> Option<Self> {
        let key = BodyKey(number as u32);
        Some(match number >> 32 {
            0 => Token::Connection,
            1 => Token::Signals,
            2 => Token::Python,
            3 => Token::Stdin(key),
            4 => Token::Stdout(key),
            5 => Token::Stderr(key),
            6 => Token::Control(key),
            7 => Token::Door,
            8 => Token::Passage(PassageId(number as u32)),
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
