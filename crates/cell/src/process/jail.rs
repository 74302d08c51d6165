//! What a cell gives up before it starts a second thread and before any app: all that serving does not need.
//! `docs/guide/security.md` has the table of what that protects, and `hearth jail-probe` checks each line of it behind this same
//! function.
//!
//! ```text
//! core files, inspection -> capabilities -> new privileges -> files, ports, signals -> system calls
//!          limits, privileges                                      Landlock              seccomp
//! ```
//! Landlock and seccomp apply to the thread that enters them and to threads that it starts: [`enter`] must be called while there
//! is one thread. Descriptors that were opened before stay open: the socket to control, the listeners, the page of breadcrumbs.
//!
//! Invariant: with [`JailMode::Required`], all parts are in force or the cell does not start.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use hearth_config::JailMode;
use hearth_ipc::{CellRole, JailPlan};
use hearth_jail::landlock::{self, LandlockError, PathAccess, Ruleset, TcpAccess};
use hearth_jail::privileges;
use hearth_jail::seccomp::{Filter, UnixSockets};
use hearth_sys::rlimit::{self, Resource};

/// System files that are read while apps run, all of them readable by every process of the machine: for name resolution, the time
/// zone, the share of the machine, and random numbers for V8's hashes.
const SYSTEM_FILES: &[&str] = &[
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

/// If this is a link into the folder of a service, the whole folder is allowed, because the service replaces the file.
const RESOLVER: &str = "/etc/resolv.conf";

/// The jail of this process. Must be kept for as long as the process lives.
#[derive(Debug)]
pub struct Jail {
    /// Parts that are not in force, although they should be. Empty when the jail is required.
    pub missing: Vec<MissingFeature>,
    /// The process's entry in `/proc`, kept open: otherwise the kernel drops the rule for it.
    _own_proc: Option<OwnedFd>,
}

/// A part of the jail that is not available.
#[derive(Debug, thiserror::Error)]
pub enum MissingFeature {
    #[error("file access of a cell cannot be restricted: {0}")]
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
pub struct JailError(#[source] MissingFeature);

/// Enters the jail, as far as the plan wants it and the kernel supports it. Must be called before there is a second thread.
pub fn enter(plan: &JailPlan, role: CellRole) -> Result<Jail, JailError> {
    let mut jail = Jail { missing: Vec::new(), _own_proc: None };
    if plan.mode == JailMode::Off {
        return Ok(jail);
    }
    let own_proc = landlock::open_path(Path::new("/proc/self")).ok();
    let parts = [
        check_single_threaded(),
        rlimit::set(Resource::Core, 0).map_err(MissingFeature::Cores),
        privileges::forbid_inspection().map_err(MissingFeature::Cores),
        privileges::drop_capabilities()
            .and_then(|()| privileges::forbid_new_privileges())
            .map_err(MissingFeature::Privileges),
        confine(plan, own_proc.as_ref()).map_err(MissingFeature::Files),
        Filter::for_cell(sockets(role)).enter().map_err(MissingFeature::Calls),
    ];
    for feature in parts.into_iter().filter_map(Result::err) {
        if plan.mode == JailMode::Required {
            return Err(JailError(feature));
        }
        jail.missing.push(feature);
    }
    jail._own_proc = own_proc;
    Ok(jail)
}

/// Threads that exist already would stay outside of the jail.
fn check_single_threaded() -> Result<(), MissingFeature> {
    let threads = std::fs::read_dir("/proc/self/task").map(Iterator::count).unwrap_or(1);
    if threads == 1 { Ok(()) } else { Err(MissingFeature::Threads(threads - 1)) }
}

// === impl Jail ===

impl Jail {
    /// Logs the parts that are not in force.
    pub(super) fn log_missing(&self) {
        for feature in &self.missing {
            match feature {
                // Control has logged this at its start, once for all cells.
                MissingFeature::Files(LandlockError::Missing(_)) => {
                    tracing::debug!("part of the jail is missing: {feature}")
                }
                feature => tracing::warn!("part of the jail is missing: {feature}"),
            }
        }
    }
}

/// Main cells connect to cordons. A cordon runs an owner that has done harm before: it may connect to no socket of this machine.
pub fn sockets(role: CellRole) -> UnixSockets {
    match role {
        CellRole::Main => UnixSockets::Allowed,
        CellRole::Cordon => UnixSockets::Forbidden,
    }
}

fn confine(plan: &JailPlan, own_proc: Option<&OwnedFd>) -> Result<(), LandlockError> {
    let mut ruleset = Ruleset::new(TcpAccess::NoBind)?;
    let resolver = Path::new(RESOLVER).canonicalize().ok().filter(|real| real.starts_with("/run"));
    let resolver = resolver.as_deref().and_then(Path::parent).filter(|folder| *folder != Path::new("/run"));
    for path in SYSTEM_FILES.iter().map(Path::new).chain(resolver) {
        allow(&mut ruleset, path, PathAccess::Read)?;
    }
    if let Some(own_proc) = own_proc {
        let failed = |error| LandlockError::Allow { path: PathBuf::from("/proc/self"), error };
        ruleset.allow_beneath(own_proc, PathAccess::Read).map_err(failed)?;
    }
    for folder in &plan.readable {
        allow(&mut ruleset, folder, PathAccess::Read)?;
    }
    for folder in &plan.writable {
        allow(&mut ruleset, folder, PathAccess::ReadWrite)?;
    }
    ruleset.enter().map_err(LandlockError::Enter)
}

/// A path that does not exist needs no rule.
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

    /// On a thread of its own, which is the only one in the jail; the other threads are reported as missing.
    fn entered(mode: JailMode) -> Result<Jail, JailError> {
        let plan = JailPlan { mode, readable: Vec::new(), writable: Vec::new() };
        std::thread::spawn(move || enter(&plan, CellRole::Cordon)).join().unwrap()
    }

    #[test]
    fn an_unavailable_part_is_reported_or_an_error() {
        assert!(entered(JailMode::Off).unwrap().missing.is_empty());
        let missing = entered(JailMode::Auto).unwrap().missing;
        assert!(matches!(missing[..], [MissingFeature::Threads(1..)]), "{missing:?}");
        let error = entered(JailMode::Required).unwrap_err().to_string();
        assert!(error.starts_with("hearth.yaml says `jail: required`, and "), "{error}");
        assert!(error.contains("threads were there before"), "{error}");
    }
}
