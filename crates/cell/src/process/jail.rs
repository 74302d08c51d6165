//! What a cell gives up before its first thread and before any app: all that serving does not need. `docs/guide/security.md` has
//! the table of what that holds, and `hearth jail-probe` tries each line of it behind this same function.
//!
//! ```text
//! core files, other processes' looks -> capabilities -> new privileges -> files, ports, signals -> system calls
//!            limits, privileges                                               Landlock              seccomp
//! ```
//! Landlock and seccomp hold the thread that enters them and those that it starts: [`enter`] must be called while there
//! is one. What was opened before stays open: the socket to control, the listeners, the page of breadcrumbs.
//!
//! Invariant: with [`JailMode::Required`], all parts are in force or there is no cell.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use hearth_config::JailMode;
use hearth_ipc::{JailPlan, Role};
use hearth_jail::landlock::{self, LandlockError, PathAccess, Ruleset, TcpAccess};
use hearth_jail::privileges;
use hearth_jail::seccomp::{Filter, UnixSockets};
use hearth_sys::rlimit::{self, Resource};

/// What is read of the system while apps run, all of it open to everybody on the machine: how names become addresses, what
/// time it is here, how much of the machine is ours, and random numbers for V8's hashes.
const OF_THE_SYSTEM: &[&str] = &[
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
    "/dev/urandom",
];

/// Where this leads when it is a link to a folder of some service's: the whole folder, because who writes the file puts a
/// new one in its place.
const RESOLVER: &str = "/etc/resolv.conf";

/// A cell in its jail. To be kept for as long as the process lives.
#[derive(Debug)]
pub struct Jail {
    /// What is not in force, although it should be. Empty when it is required.
    pub gaps: Vec<Gap>,
    /// Its own entry in `/proc`: the kernel forgets which folder was allowed once nobody has it open.
    _own: Option<OwnedFd>,
}

/// A part that could not be had.
#[derive(Debug, thiserror::Error)]
pub enum Gap {
    #[error("files cannot be kept from a cell: {0}")]
    Files(#[source] LandlockError),
    #[error("system calls cannot be kept from a cell: {0}")]
    Calls(#[source] io::Error),
    #[error("privileges cannot be given up: {0}")]
    Privileges(#[source] io::Error),
    #[error("core files cannot be forbidden: {0}")]
    Cores(#[source] io::Error),
    #[error("{0} threads were there before the jail, and are not in it")]
    Threads(usize),
}

#[derive(Debug, thiserror::Error)]
#[error("hearth.yaml says `jail: required`, and {0}; `hearth doctor` says what this machine has")]
pub struct JailError(#[source] Gap);

/// Enters the jail, as far as the plan wants it and the kernel can hold it. Must be called before there is a second thread.
pub fn enter(plan: &JailPlan, role: Role) -> Result<Jail, JailError> {
    let mut jail = Jail { gaps: Vec::new(), _own: None };
    if plan.mode == JailMode::Off {
        return Ok(jail);
    }
    let own = landlock::open_path(Path::new("/proc/self")).ok();
    let parts = [
        alone(),
        rlimit::set(Resource::Core, 0).map_err(Gap::Cores),
        privileges::forbid_inspection().map_err(Gap::Cores),
        privileges::drop_capabilities().and_then(|()| privileges::forbid_new_privileges()).map_err(Gap::Privileges),
        confine(plan, own.as_ref()).map_err(Gap::Files),
        Filter::for_cell(sockets(role)).enter().map_err(Gap::Calls),
    ];
    for gap in parts.into_iter().filter_map(Result::err) {
        if plan.mode == JailMode::Required {
            return Err(JailError(gap));
        }
        jail.gaps.push(gap);
    }
    jail._own = own;
    Ok(jail)
}

/// Threads that are there already stay outside.
fn alone() -> Result<(), Gap> {
    let threads = std::fs::read_dir("/proc/self/task").map(Iterator::count).unwrap_or(1);
    if threads == 1 { Ok(()) } else { Err(Gap::Threads(threads - 1)) }
}

// === impl Jail ===

impl Jail {
    /// Says what is not in force.
    pub(super) fn tell(&self) {
        for gap in &self.gaps {
            match gap {
                // The server has said so at its start, once for all cells.
                Gap::Files(LandlockError::Missing(_)) => tracing::debug!("A part of the jail is missing: {gap}"),
                gap => tracing::warn!("A part of the jail is missing: {gap}"),
            }
        }
    }
}

/// Main cells connect to those of cordons. In a cordon is who has done harm before: it connects to nobody on this machine.
pub fn sockets(role: Role) -> UnixSockets {
    match role {
        Role::Main => UnixSockets::Allowed,
        Role::Cordon => UnixSockets::Forbidden,
    }
}

fn confine(plan: &JailPlan, own: Option<&OwnedFd>) -> Result<(), LandlockError> {
    let mut ruleset = Ruleset::new(TcpAccess::NoBind)?;
    let resolver = Path::new(RESOLVER).canonicalize().ok().filter(|real| real.starts_with("/run"));
    let resolver = resolver.as_deref().and_then(Path::parent).filter(|folder| *folder != Path::new("/run"));
    for path in OF_THE_SYSTEM.iter().map(Path::new).chain(resolver) {
        allow(&mut ruleset, path, PathAccess::Read)?;
    }
    if let Some(own) = own {
        let failed = |error| LandlockError::Allow { path: PathBuf::from("/proc/self"), error };
        ruleset.allow_beneath(own, PathAccess::Read).map_err(failed)?;
    }
    for folder in &plan.readable {
        allow(&mut ruleset, folder, PathAccess::Read)?;
    }
    for folder in &plan.writable {
        allow(&mut ruleset, folder, PathAccess::ReadWrite)?;
    }
    ruleset.enter().map_err(LandlockError::Enter)
}

/// What is not there need not be allowed.
fn allow(ruleset: &mut Ruleset, path: &Path, access: PathAccess) -> Result<(), LandlockError> {
    match ruleset.allow(path, access) {
        Err(LandlockError::Allow { error, .. }) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// On a thread of its own, which is all that is jailed; that there are others is what is missing.
    fn entered(mode: JailMode) -> Result<Jail, JailError> {
        let plan = JailPlan { mode, readable: Vec::new(), writable: Vec::new() };
        std::thread::spawn(move || enter(&plan, Role::Cordon)).join().unwrap()
    }

    #[test]
    fn what_cannot_be_had_is_a_gap_or_an_error() {
        assert!(entered(JailMode::Off).unwrap().gaps.is_empty());
        let gaps = entered(JailMode::Auto).unwrap().gaps;
        assert!(matches!(gaps[..], [Gap::Threads(1..)]), "{gaps:?}");
        let error = entered(JailMode::Required).unwrap_err().to_string();
        assert!(error.starts_with("hearth.yaml says `jail: required`, and "), "{error}");
        assert!(error.contains("threads were there before"), "{error}");
    }
}
