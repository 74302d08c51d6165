//! Why an address cannot be listened on, and what to do about it: which process has it, where `/proc` shows that, and the flag
//! that names another.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

/// Ports below this one are the administrator's.
const FIRST_FREE_PORT: u16 = 1024;

#[derive(Debug)]
pub struct BindError {
    address: SocketAddr,
    /// The flag that says the address.
    flag: &'static str,
    source: io::Error,
    occupant: Option<Occupant>,
}

/// The process that listens on a port.
#[derive(Debug)]
struct Occupant {
    name: String,
    id: u32,
}

// === impl BindError ===

impl BindError {
    pub fn new(address: SocketAddr, flag: &'static str, source: io::Error) -> Self {
        let is_taken = source.kind() == io::ErrorKind::AddrInUse;
        let occupant = is_taken.then(|| Occupant::of(address.port())).flatten();
        Self { address, flag, source, occupant }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, flag, source, occupant } = self;
        write!(f, "cannot listen on {address}: ")?;
        match (source.kind(), occupant) {
            (io::ErrorKind::AddrInUse, Some(Occupant { name, id })) => {
                write!(f, "{name} (process {id}) listens there: stop it, or choose another address with {flag}")
            }
            (io::ErrorKind::AddrInUse, None) => write!(
                f,
                "another program listens there (`ss -ltnp` says which): stop it, or choose another address with {flag}"
            ),
            (io::ErrorKind::PermissionDenied, _) if address.port() < FIRST_FREE_PORT => write!(
                f,
                "ports below {FIRST_FREE_PORT} need a privilege: choose one above with {flag}, have systemd open it \
                 (docs/guide/operations.md), or grant it with `setcap cap_net_bind_service=+ep` on this program"
            ),
            (io::ErrorKind::AddrNotAvailable, _) => write!(
                f,
                "this machine has no such address: choose one that `ip address` lists with {flag}, or 0.0.0.0 for all"
            ),
            _ => write!(f, "{source}; choose another address with {flag}"),
        }
    }
}

// The system's own text is in the error's, where that says more than the cause: there is no source to follow.
impl std::error::Error for BindError {}

// === impl Occupant ===

impl Occupant {
    /// Processes of other users do not show which sockets they have: then there is no answer.
    fn of(port: u16) -> Option<Self> {
        let tables =
            ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| std::fs::read_to_string(table).unwrap_or_default());
        let inodes: Vec<&str> =
            tables.iter().flat_map(|table| table.lines().filter_map(|line| inode(line, port))).collect();
        let entries = std::fs::read_dir("/proc").ok()?;
        let mut ids: Vec<u32> =
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        // A server has the same socket as the processes that it started: the server is the one to stop.
        ids.sort_unstable();
        let id = ids.into_iter().find(|id| holds(*id, &inodes))?;
        let name = std::fs::read_to_string(format!("/proc/{id}/comm")).ok()?;
        Some(Self { name: crate::terminal::escape(name.trim_end()), id })
    }
}

/// The socket of a line of `/proc/net/tcp`, where it listens on this port.
fn inode(line: &str, port: u16) -> Option<&str> {
    /// TCP_LISTEN, as the table writes it.
    const LISTENS: &str = "0A";
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (_, digits) = fields.get(1)?.rsplit_once(':')?;
    let is_meant = u16::from_str_radix(digits, 16) == Ok(port) && *fields.get(3)? == LISTENS;
    is_meant.then(|| fields.get(9).copied()).flatten()
}

/// Whether a process has one of these sockets open.
fn holds(id: u32, inodes: &[&str]) -> bool {
    let Ok(entries) = std::fs::read_dir(Path::new("/proc").join(id.to_string()).join("fd")) else { return false };
    entries.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok()).any(|target| {
        let target = target.to_string_lossy();
        let socket = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
        socket.is_some_and(|socket| inodes.contains(&socket))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_process_that_listens_is_named() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let error = BindError::new(address, "--listen", io::ErrorKind::AddrInUse.into()).to_string();
        assert!(error.contains(&format!("(process {}) listens there", std::process::id())), "{error}");
        assert!(error.ends_with("choose another address with --listen"), "{error}");
        drop(taken);
        let error = BindError::new(address, "--listen", io::ErrorKind::AddrInUse.into()).to_string();
        assert!(error.contains("another program listens there"), "{error}");
    }

    #[test]
    fn each_cause_has_its_remedy() {
        let told = |address: &str, kind: io::ErrorKind| {
            BindError::new(address.parse().unwrap(), "--listen-tls", kind.into()).to_string()
        };
        assert!(told("0.0.0.0:443", io::ErrorKind::PermissionDenied).contains("setcap"));
        assert!(!told("0.0.0.0:8443", io::ErrorKind::PermissionDenied).contains("setcap"));
        assert!(told("10.9.9.9:443", io::ErrorKind::AddrNotAvailable).contains("0.0.0.0 for all"));
    }
}
