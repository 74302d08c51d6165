//! What the running kernel has for walls.

use std::fs;

use crate::landlock::Abi;
use crate::seccomp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// As `uname` says it.
    pub release: String,
    pub landlock: Option<Abi>,
    pub seccomp: Presence,
    /// Whether this user may make a user namespace, and with it all others.
    pub user_namespaces: UserNamespaces,
    pub cgroups: Cgroups,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    There,
    Missing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserNamespaces {
    Allowed,
    /// This setting forbids them, to this user at least.
    Forbidden {
        by: &'static str,
    },
    Missing,
}

/// Which control groups there are, by what is mounted where they are wont to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cgroups {
    /// One tree for all controllers.
    V2,
    /// A tree for each.
    V1,
    Missing,
}

// === impl Kernel ===

impl Kernel {
    pub fn probe() -> Self {
        Self {
            release: read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".to_owned()),
            landlock: Abi::of_kernel().ok(),
            seccomp: if seccomp::is_there() { Presence::There } else { Presence::Missing },
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
    let is_there = |path: &str| fs::exists(path).unwrap_or(false);
    if is_there("/sys/fs/cgroup/cgroup.controllers") {
        Cgroups::V2
    } else if is_there("/sys/fs/cgroup/memory") || is_there("/sys/fs/cgroup/pids") {
        Cgroups::V1
    } else {
        Cgroups::Missing
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
