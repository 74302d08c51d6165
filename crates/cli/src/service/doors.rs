//! Where we listen. A door was opened by the program before us (an upgrade), by the service manager (socket activation),
//! or is opened now; whoever serves behind it need not know.
//!
//! What the service manager opened takes the place of the configured addresses of its kind: `FileDescriptorName=https`
//! (or `tls`) for TLS, `admin` for the admin API, `mcp` for MCP, any other name for plain HTTP.

use std::io;
use std::net::{SocketAddr, TcpListener};

use hearth_jail::socket_activation::{self, ActivationError};
use serde::{Deserialize, Serialize};

use crate::bind::BindError;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Plain,
    Tls,
    Admin,
    Mcp,
}

impl Kind {
    /// The flag that says where.
    fn flag(self) -> &'static str {
        match self {
            Self::Plain => "--listen",
            Self::Tls => "--listen-tls",
            Self::Admin => "--admin",
            Self::Mcp => "--mcp",
        }
    }
}

/// How a door came to be, which decides who finds it again after an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// As it was asked for: port 0 finds the same port again.
    Asked(SocketAddr),
    Activated,
}

pub struct Door {
    pub kind: Kind,
    pub origin: Origin,
    pub listener: TcpListener,
}

#[derive(Debug, thiserror::Error)]
pub enum DoorsError {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error("a listener has no address: {0}")]
    Address(#[source] io::Error),
    #[error("the service manager's sockets cannot be used: {0}")]
    Activation(#[from] ActivationError),
}

/// Doors that wait to be asked for, and a list of those that were.
pub struct Doors {
    waiting: Vec<Door>,
    opened: Vec<(Kind, Origin, SocketAddr)>,
}

impl Doors {
    /// With what the program before us left, and what the service manager opened.
    pub fn new(left: Vec<Door>) -> Result<Self, DoorsError> {
        let variable = |name| std::env::var(name).ok();
        let (pid, count, names) = (variable("LISTEN_PID"), variable("LISTEN_FDS"), variable("LISTEN_FDNAMES"));
        let mut waiting = left;
        for (name, fd) in socket_activation::take(pid.as_deref(), count.as_deref(), names.as_deref())? {
            let kind = match name.as_str() {
                "https" | "tls" => Kind::Tls,
                "admin" => Kind::Admin,
                "mcp" => Kind::Mcp,
                _ => Kind::Plain,
            };
            waiting.push(Door { kind, origin: Origin::Activated, listener: TcpListener::from(fd) });
        }
        Ok(Self { waiting, opened: Vec::new() })
    }

    /// Whether the service manager opened any of this kind.
    pub fn has_activated(&self, kind: Kind) -> bool {
        self.waiting.iter().any(|door| door.kind == kind && door.origin == Origin::Activated)
    }

    /// All doors of a kind, open, each with the address that it really has.
    pub fn open(&mut self, kind: Kind, addresses: &[SocketAddr]) -> Result<Vec<(TcpListener, SocketAddr)>, DoorsError> {
        let mut doors: Vec<Door> = Vec::new();
        if self.has_activated(kind) {
            while let Some(door) = self.take(kind, Origin::Activated) {
                doors.push(door);
            }
        } else {
            for address in addresses {
                let origin = Origin::Asked(*address);
                doors.push(match self.take(kind, origin) {
                    Some(door) => door,
                    None => {
                        let listener = bind(*address).map_err(|error| BindError::new(*address, kind.flag(), error))?;
                        Door { kind, origin, listener }
                    }
                });
            }
        }
        let mut open = Vec::new();
        for Door { origin, listener, .. } in doors {
            let bound = listener.local_addr().map_err(DoorsError::Address)?;
            self.opened.push((kind, origin, bound));
            open.push((listener, bound));
        }
        Ok(open)
    }

    /// For the next program: the listeners that are still open, as they came to be.
    pub fn leave(&self, listeners: Vec<TcpListener>) -> Vec<Door> {
        let known = |listener: TcpListener| {
            let bound = listener.local_addr().ok()?;
            let (kind, origin, _) = *self.opened.iter().find(|(_, _, opened)| *opened == bound)?;
            Some(Door { kind, origin, listener })
        };
        listeners.into_iter().filter_map(known).collect()
    }

    fn take(&mut self, kind: Kind, origin: Origin) -> Option<Door> {
        let at = self.waiting.iter().position(|door| door.kind == kind && door.origin == origin)?;
        Some(self.waiting.remove(at))
    }
}

/// The standard library asks for a queue of 128, and a burst of clients beyond it waits a second for its second try.
fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    // The kernel takes the least of this and net.core.somaxconn.
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(listener)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec};
    use rustix::net::{AddressFamily, SocketFlags, SocketType};

    use super::*;

    #[test]
    fn what_was_open_before_is_found_again() {
        let any = "127.0.0.1:0".parse().unwrap();
        let mut before = Doors::new(Vec::new()).unwrap();
        let mut opened = before.open(Kind::Plain, &[any, any]).unwrap();
        opened.extend(before.open(Kind::Admin, &[any]).unwrap());
        let bound: Vec<SocketAddr> = opened.iter().map(|(_, bound)| *bound).collect();
        let left = before.leave(opened.into_iter().map(|(listener, _)| listener).collect());
        let mut after = Doors::new(left).unwrap();
        let admin = after.open(Kind::Admin, &[any]).unwrap();
        let plain = after.open(Kind::Plain, &[any, any, any]).unwrap();
        assert_eq!(admin[0].1, bound[2]);
        assert_eq!((plain[0].1, plain[1].1), (bound[0], bound[1]));
        assert!(!bound.contains(&plain[2].1), "a third one is new");
    }

    #[test]
    fn what_was_activated_takes_the_place_of_what_is_configured() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let bound = listener.local_addr().unwrap();
        let left = vec![Door { kind: Kind::Plain, origin: Origin::Activated, listener }];
        let mut doors = Doors::new(left).unwrap();
        assert!(doors.has_activated(Kind::Plain) && !doors.has_activated(Kind::Tls));
        let open = doors.open(Kind::Plain, &["127.0.0.1:0".parse().unwrap()]).unwrap();
        assert_eq!(open.iter().map(|(_, bound)| *bound).collect::<Vec<_>>(), [bound]);
    }

    /// More clients than the standard library's queue has room for, of which none has to try again.
    #[test]
    fn a_burst_of_clients_finds_room() {
        let limit = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        let burst = limit.trim().parse::<usize>().unwrap().min(300);
        let opened = Doors::new(Vec::new()).unwrap().open(Kind::Plain, &["127.0.0.1:0".parse().unwrap()]).unwrap();
        let clients: Vec<_> = (0..burst)
            .map(|_| {
                let client =
                    rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::NONBLOCK, None);
                let client = client.unwrap();
                let _ = rustix::net::connect(&client, &opened[0].1);
                client
            })
            .collect();
        // Where there is no room a client tries again and again, in vain, since nothing is accepted here.
        let patience = Timespec { tv_sec: 20, tv_nsec: 0 };
        for client in &clients {
            let mut polled = [PollFd::new(client, PollFlags::OUT)];
            assert_eq!(rustix::event::poll(&mut polled, Some(&patience)).unwrap(), 1);
            assert!(rustix::net::getpeername(client).is_ok());
        }
    }
}
