//! Which isolation features the running kernel has, for `hearth doctor` and the choice of drivers.

use std::fs;

use crate::landlock::Abi;
use crate::seccomp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFeatures {
    /// As `uname -r` prints it.
    pub release: String,
    pub landlock: Option<Abi>,
    pub seccomp: Support,
    /// Whether this user may create user namespaces, and with them all others.
    pub user_namespaces: UserNamespaces,
    pub cgroups: Cgroups,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    Available,
    Missing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserNamespaces {
    Allowed,
    /// A kernel setting forbids them, at least to this user.
    Forbidden {
        by: &'static str,
    },
    Missing,
}

/// The version of control groups, by what is mounted in the usual places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cgroups {
    /// One hierarchy for all controllers.
    V2,
    /// One hierarchy per controller.
    V1,
    Missing,
}

// === impl KernelFeatures ===

impl KernelFeatures {
    pub fn probe() -> Self {
        Self {
            release: read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".to_owned()),
            landlock: Abi::detect().ok(),
            seccomp: if seccomp::is_supported() { Support::Available } else { Support::Missing },
            user_namespaces: user_namespaces(),
            cgroups: cgroups(),
        }
    }
}

fn user_namespaces() -> UserNamespaces {
    if !fs::exists("/proc/self/ns/user").unwrap_or(false) {
        return UserNamespaces::Missing;
    }
    if read("/proc/sys/user/max_user_namespaces").as_deref() == Some("0") {
        return UserNamespaces::Forbidden { by: "user.max_user_namespaces" };
    }
    // SAFETY: geteuid takes nothing and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        return UserNamespaces::Allowed;
    }
    if read("/proc/sys/kernel/unprivileged_userns_clone").as_deref() == Some("0") {
        return UserNamespaces::Forbidden { by: "kernel.unprivileged_userns_clone" };
    }
    if read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").as_deref() == Some("1") {
        return UserNamespaces::Forbidden { by: "kernel.apparmor_restrict_unprivileged_userns" };
    }
    UserNamespaces::Allowed
}

fn cgroups() -> Cgroups {
    let exists = |path: &str| fs::exists(path).unwrap_or(false);
    if exists("/sys/fs/cgroup/cgroup.controllers") {
        Cgroups::V2
    } else if exists("/sys/fs/cgroup/memory") || exists("/sys/fs/cgroup/pids") {
        Cgroups::V1
    } else {
        Cgroups::Missing
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
