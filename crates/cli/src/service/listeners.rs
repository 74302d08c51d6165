//! The listening sockets. Each was inherited from the previous program (an upgrade), opened by the service manager (socket
//! activation), or is bound now; the server uses all of them alike.
//!
//! Sockets of the service manager replace the configured addresses of their kind: `FileDescriptorName=https` (or `tls`) for
//! TLS, `admin` for the admin API, `mcp` for MCP, any other name for plain HTTP.

use std::io;
use std::net::{SocketAddr, TcpListener};

use hearth_sys::socket_activation::{self, ActivationError};
use serde::{Deserialize, Serialize};

use crate::bind::BindError;

/// Length of the accept queue.
const BACKLOG: i32 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListenerKind {
    Plain,
    Tls,
    Admin,
    Mcp,
}

impl ListenerKind {
    /// The flag that configures the address.
    fn flag(self) -> &'static str {
        match self {
            Self::Plain => "--listen",
            Self::Tls => "--listen-tls",
            Self::Admin => "--admin",
            Self::Mcp => "--mcp",
        }
    }
}

/// How a listener was opened. After an upgrade the next program finds it again by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListenerOrigin {
    /// By this configured address: port 0 finds the same port again.
    #[serde(rename = "asked")]
    Configured(SocketAddr),
    /// By the service manager.
    Activated,
}

pub struct BoundListener {
    pub kind: ListenerKind,
    pub origin: ListenerOrigin,
    pub listener: TcpListener,
}

#[derive(Debug, thiserror::Error)]
pub enum ListenersError {
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error("a listener has no address: {0}")]
    Address(#[source] io::Error),
    #[error("the service manager's sockets cannot be used: {0}")]
    Activation(#[from] ActivationError),
}

/// Sockets that are open but not used yet, and a list of those in use.
pub struct Listeners {
    unused: Vec<BoundListener>,
    opened: Vec<(ListenerKind, ListenerOrigin, SocketAddr)>,
}

impl Listeners {
    /// With the sockets of the previous program and of the service manager.
    pub fn new(inherited: Vec<BoundListener>) -> Result<Self, ListenersError> {
        let variable = |name| std::env::var(name).ok();
        let (pid, count, names) = (variable("LISTEN_PID"), variable("LISTEN_FDS"), variable("LISTEN_FDNAMES"));
        let mut unused = inherited;
        for (name, fd) in socket_activation::take(pid.as_deref(), count.as_deref(), names.as_deref())? {
            let kind = match name.as_str() {
                "https" | "tls" => ListenerKind::Tls,
                "admin" => ListenerKind::Admin,
                "mcp" => ListenerKind::Mcp,
                _ => ListenerKind::Plain,
            };
            unused.push(BoundListener { kind, origin: ListenerOrigin::Activated, listener: TcpListener::from(fd) });
        }
        Ok(Self { unused, opened: Vec::new() })
    }

    /// Whether the service manager opened a socket of this kind.
    pub fn has_activated(&self, kind: ListenerKind) -> bool {
        self.unused.iter().any(|listener| listener.kind == kind && listener.origin == ListenerOrigin::Activated)
    }

    /// The listeners of a kind, each with the address that it is bound to.
    pub fn open(
        &mut self,
        kind: ListenerKind,
        addresses: &[SocketAddr],
    ) -> Result<Vec<(TcpListener, SocketAddr)>, ListenersError> {
        let mut listeners: Vec<BoundListener> = Vec::new();
        if self.has_activated(kind) {
            while let Some(listener) = self.take(kind, ListenerOrigin::Activated) {
                listeners.push(listener);
            }
        } else {
            for address in addresses {
                let origin = ListenerOrigin::Configured(*address);
                listeners.push(match self.take(kind, origin) {
                    Some(listener) => listener,
                    None => {
                        let listener = bind(*address).map_err(|error| BindError::new(*address, kind.flag(), error))?;
                        BoundListener { kind, origin, listener }
                    }
                });
            }
        }
        let mut open = Vec::new();
        for BoundListener { origin, listener, .. } in listeners {
            let bound = listener.local_addr().map_err(ListenersError::Address)?;
            self.opened.push((kind, origin, bound));
            open.push((listener, bound));
        }
        Ok(open)
    }

    /// For the next program: the listeners that are still open, with how they were opened.
    pub fn export(&self, listeners: Vec<TcpListener>) -> Vec<BoundListener> {
        let known = |listener: TcpListener| {
            let bound = listener.local_addr().ok()?;
            let (kind, origin, _) = *self.opened.iter().find(|(_, _, opened)| *opened == bound)?;
            Some(BoundListener { kind, origin, listener })
        };
        listeners.into_iter().filter_map(known).collect()
    }

    fn take(&mut self, kind: ListenerKind, origin: ListenerOrigin) -> Option<BoundListener> {
        let at = self.unused.iter().position(|listener| listener.kind == kind && listener.origin == origin)?;
        Some(self.unused.remove(at))
    }
}

/// Binds with a longer accept queue: the standard library asks for 128, and a client beyond it retries only after a second.
fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    // The kernel uses the minimum of this and net.core.somaxconn.
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
    fn inherited_listeners_are_found_again() {
        let any = "127.0.0.1:0".parse().unwrap();
        let mut before = Listeners::new(Vec::new()).unwrap();
        let mut opened = before.open(ListenerKind::Plain, &[any, any]).unwrap();
        opened.extend(before.open(ListenerKind::Admin, &[any]).unwrap());
        let bound: Vec<SocketAddr> = opened.iter().map(|(_, bound)| *bound).collect();
        let left = before.export(opened.into_iter().map(|(listener, _)| listener).collect());
        let mut after = Listeners::new(left).unwrap();
        let admin = after.open(ListenerKind::Admin, &[any]).unwrap();
        let plain = after.open(ListenerKind::Plain, &[any, any, any]).unwrap();
        assert_eq!(admin[0].1, bound[2]);
        assert_eq!((plain[0].1, plain[1].1), (bound[0], bound[1]));
        assert!(!bound.contains(&plain[2].1), "a third one is new");
    }

    #[test]
    fn activated_sockets_replace_configured_addresses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let bound = listener.local_addr().unwrap();
        let left = vec![BoundListener { kind: ListenerKind::Plain, origin: ListenerOrigin::Activated, listener }];
        let mut listeners = Listeners::new(left).unwrap();
        assert!(listeners.has_activated(ListenerKind::Plain) && !listeners.has_activated(ListenerKind::Tls));
        let open = listeners.open(ListenerKind::Plain, &["127.0.0.1:0".parse().unwrap()]).unwrap();
        assert_eq!(open.iter().map(|(_, bound)| *bound).collect::<Vec<_>>(), [bound]);
    }

    /// More clients than the standard library's accept queue holds, none of which has to retry.
    #[test]
    fn a_burst_of_clients_fits_into_the_accept_queue() {
        let limit = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        let burst = limit.trim().parse::<usize>().unwrap().min(300);
        let opened =
            Listeners::new(Vec::new()).unwrap().open(ListenerKind::Plain, &["127.0.0.1:0".parse().unwrap()]).unwrap();
        let clients: Vec<_> = (0..burst)
            .map(|_| {
                let client =
                    rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::NONBLOCK, None);
                let client = client.unwrap();
                let _ = rustix::net::connect(&client, &opened[0].1);
                client
            })
            .collect();
        // With a full queue a client would retry in vain, since nothing is accepted here.
        let connect_timeout = Timespec { tv_sec: 20, tv_nsec: 0 };
        for client in &clients {
            let mut polled = [PollFd::new(client, PollFlags::OUT)];
            assert_eq!(rustix::event::poll(&mut polled, Some(&connect_timeout)).unwrap(), 1);
            assert!(rustix::net::getpeername(client).is_ok());
        }
    }
}
