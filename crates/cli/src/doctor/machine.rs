//! The machine's limits: descriptors, mappings, memory; and the version of V8.

use std::fs;
use std::path::Path;

use hearth_core::ByteSize;
use hearth_runtime::Platform;
use hearth_sys::rlimit::{self, Resource};

use super::finding::DoctorFinding;
use crate::terminal::size;

/// Enough for connections, files and fetches of a busy server.
const DESCRIPTORS: u64 = 8_192;
/// Linux's default, which V8 comes close to with a few hundred isolates.
const MAPPINGS: u64 = 65_530;
/// Enough for a few dozen workers.
const MEMORY: ByteSize = ByteSize::mb(512);

pub(super) fn examine() -> Vec<DoctorFinding> {
    vec![v8(), memory(), descriptors(), mappings(), overcommit(), systemd()]
}

fn v8() -> DoctorFinding {
    DoctorFinding::good("v8", Platform::v8_version())
}

fn memory() -> DoctorFinding {
    const CHECK: &str = "memory";
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse().ok());
    match total.map(|kilobytes: u64| ByteSize(kilobytes * 1024)) {
        Some(total) if total < MEMORY => DoctorFinding::weak(
            CHECK,
            size(total.0),
            "few workers stay warm",
            "give the machine more, or set `standby: 0` and small `memory` limits",
        ),
        Some(total) => DoctorFinding::good(CHECK, size(total.0)),
        None => unknown(CHECK, "/proc/meminfo"),
    }
}

fn descriptors() -> DoctorFinding {
    const CHECK: &str = "descriptors";
    match rlimit::get(Resource::Descriptors) {
        Ok((_, most)) if most < DESCRIPTORS => DoctorFinding::weak(
            CHECK,
            format!("at most {most}"),
            "each connection needs one; beyond them, clients wait",
            "raise the hard limit: LimitNOFILE= in the systemd unit, or `ulimit -Hn` for a shell",
        ),
        Ok((_, u64::MAX)) => DoctorFinding::good(CHECK, "no limit"),
        Ok((_, most)) => DoctorFinding::good(CHECK, format!("at most {most}")),
        Err(_) => unknown(CHECK, "the limit"),
    }
}

fn mappings() -> DoctorFinding {
    const CHECK: &str = "mappings";
    match number("/proc/sys/vm/max_map_count") {
        Some(most) if most < MAPPINGS => DoctorFinding::weak(
            CHECK,
            format!("at most {most}"),
            "V8 needs many for each isolate: a cell with many workers may run out, and be replaced",
            format!("sysctl -w vm.max_map_count={}", MAPPINGS * 4),
        ),
        Some(most) => DoctorFinding::good(CHECK, format!("at most {most}")),
        None => unknown(CHECK, "/proc/sys/vm/max_map_count"),
    }
}

fn overcommit() -> DoctorFinding {
    const CHECK: &str = "overcommit";
    match number("/proc/sys/vm/overcommit_memory") {
        Some(2) => DoctorFinding::bad(
            CHECK,
            "never",
            "V8 sets aside far more addresses than it ever fills, and cannot start",
            "sysctl -w vm.overcommit_memory=0",
        ),
        Some(_) => DoctorFinding::good(CHECK, "allowed"),
        None => unknown(CHECK, "/proc/sys/vm/overcommit_memory"),
    }
}

fn systemd() -> DoctorFinding {
    const CHECK: &str = "systemd";
    match Path::new("/run/systemd/system").is_dir() {
        true => DoctorFinding::good(CHECK, "runs this machine"),
        false => {
            DoctorFinding::absent(CHECK, "something else must start Hearth again after a failure of the machine's")
        }
    }
}

fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn unknown(check: &'static str, what: &str) -> DoctorFinding {
    DoctorFinding::weak(check, "unknown", "nothing can be said about it", format!("make {what} readable"))
}
