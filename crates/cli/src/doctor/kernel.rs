//! The kernel's isolation features: for cells (Landlock, seccomp) and for sandboxes (namespaces, control groups).

use anyhow::bail;
use hearth_config::JailMode;
use hearth_jail::kernel_features::{Cgroups, KernelFeatures, Support, UserNamespaces};
use hearth_jail::landlock::Abi;

use super::finding::DoctorFinding;

/// Logs once at the start what the jail of all cells lacks. An error if a required feature is missing.
pub fn check_jail(mode: Option<JailMode>) -> anyhow::Result<()> {
    if let Some(warning) = check(mode.unwrap_or(JailMode::Auto), &KernelFeatures::probe())? {
        tracing::warn!("{warning}");
    }
    Ok(())
}

/// Warnings about missing features.
fn check(mode: JailMode, kernel: &KernelFeatures) -> anyhow::Result<Option<String>> {
    let mut missing = Vec::new();
    if kernel.landlock.is_none() {
        missing.push("Landlock (Linux 5.13 and later, `landlock` in the kernel's lsm= list)");
    }
    if kernel.seccomp == Support::Missing {
        missing.push("seccomp (CONFIG_SECCOMP_FILTER)");
    }
    let missing = missing.join(" and ");
    match mode {
        _ if missing.is_empty() => Ok(None),
        JailMode::Off => Ok(None),
        JailMode::Auto => {
            Ok(Some(format!("Cells are not wholly jailed: this kernel lacks {missing}; see `hearth doctor`")))
        }
        JailMode::Required => bail!(
            "hearth.yaml: jail: this kernel lacks {missing}, and `required` wants all of it: use such a kernel, or `jail: auto`"
        ),
    }
}

pub(super) fn examine(jail: JailMode) -> Vec<DoctorFinding> {
    let kernel = KernelFeatures::probe();
    vec![
        DoctorFinding::good("kernel", format!("Linux {}", kernel.release)),
        landlock(kernel.landlock, jail),
        seccomp(kernel.seccomp, jail),
        user_namespaces(&kernel.user_namespaces),
        cgroups(kernel.cgroups),
    ]
}

fn landlock(abi: Option<Abi>, jail: JailMode) -> DoctorFinding {
    const CHECK: &str = "landlock";
    match abi {
        Some(abi) if abi.supports_scopes() => DoctorFinding::good(CHECK, format!("version {}", abi.0)),
        Some(abi) => DoctorFinding::weak(
            CHECK,
            format!("version {}", abi.0),
            "files are kept from cells; abstract Unix sockets of other programs are not",
            "a kernel from Linux 6.12 on holds these too",
        ),
        None => missing(
            CHECK,
            jail,
            "a cell that was taken over could read every file of the user that runs Hearth",
            "use Linux 5.13 or later with `landlock` in the lsm= list of its command line",
        ),
    }
}

fn seccomp(presence: Support, jail: JailMode) -> DoctorFinding {
    const CHECK: &str = "seccomp";
    match presence {
        Support::Available => DoctorFinding::good(CHECK, "filters"),
        Support::Missing => missing(
            CHECK,
            jail,
            "a cell that was taken over could ask the kernel for anything, and start programs",
            "use a kernel with CONFIG_SECCOMP_FILTER; in a container, allow the seccomp system call",
        ),
    }
}

fn missing(check: &'static str, jail: JailMode, means: &str, fix: &str) -> DoctorFinding {
    match jail {
        JailMode::Required => DoctorFinding::bad(check, "missing, and `jail: required`", means, fix),
        JailMode::Auto | JailMode::Off => DoctorFinding::weak(check, "missing", means, fix),
    }
}

fn user_namespaces(namespaces: &UserNamespaces) -> DoctorFinding {
    const CHECK: &str = "user namespaces";
    const MEANS: &str = "sandboxes made of processes cannot be started; apps are served all the same";
    match namespaces {
        UserNamespaces::Allowed => DoctorFinding::good(CHECK, "allowed"),
        UserNamespaces::Forbidden { by } => {
            let value = if by.contains("restrict") { "0" } else { "1 (or more)" };
            DoctorFinding::weak(CHECK, format!("forbidden by {by}"), MEANS, format!("set {by} to {value} with sysctl"))
        }
        UserNamespaces::Missing => DoctorFinding::weak(CHECK, "missing", MEANS, "use a kernel with CONFIG_USER_NS"),
    }
}

fn cgroups(cgroups: Cgroups) -> DoctorFinding {
    const CHECK: &str = "control groups";
    match cgroups {
        Cgroups::V2 => DoctorFinding::good(CHECK, "version 2"),
        Cgroups::V1 => DoctorFinding::good(CHECK, "version 1"),
        Cgroups::Missing => DoctorFinding::weak(
            CHECK,
            "missing",
            "sandboxes have the limits of single processes instead of limits for all of their processes together",
            "mount cgroup2 at /sys/fs/cgroup",
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::finding::State;
    use super::*;

    fn kernel(landlock: Option<Abi>, seccomp: Support) -> KernelFeatures {
        let release = "1.0".to_owned();
        KernelFeatures {
            release,
            landlock,
            seccomp,
            user_namespaces: UserNamespaces::Missing,
            cgroups: Cgroups::Missing,
        }
    }

    #[test]
    fn what_is_missing_is_said_or_stops_the_start() {
        let whole = kernel(Some(Abi(1)), Support::Available);
        for mode in [JailMode::Off, JailMode::Auto, JailMode::Required] {
            assert_eq!(check(mode, &whole).unwrap(), None);
        }
        let (one, other) = (kernel(None, Support::Available), kernel(Some(Abi(6)), Support::Missing));
        for (lacking, name) in [(one, "Landlock"), (other, "seccomp")] {
            assert_eq!(check(JailMode::Off, &lacking).unwrap(), None);
            assert!(check(JailMode::Auto, &lacking).unwrap().unwrap().contains(name));
            let error = check(JailMode::Required, &lacking).unwrap_err().to_string();
            assert!(error.starts_with("hearth.yaml: jail: this kernel lacks") && error.contains(name), "{error}");
        }
    }

    #[test]
    fn what_is_required_and_missing_is_bad() {
        assert_eq!(landlock(None, JailMode::Required).state, State::Bad);
        assert_eq!(landlock(None, JailMode::Auto).state, State::Weak);
        assert_eq!(landlock(Some(Abi(4)), JailMode::Required).state, State::Weak);
        assert_eq!(landlock(Some(Abi(6)), JailMode::Required).state, State::Good);
        let forbidden = UserNamespaces::Forbidden { by: "kernel.unprivileged_userns_clone" };
        let fix = user_namespaces(&forbidden).advice.unwrap().fix;
        assert_eq!(fix, "set kernel.unprivileged_userns_clone to 1 (or more) with sysctl");
    }
}
