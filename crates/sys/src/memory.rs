//! Memory that this process may use: the least of the machine's and of the limits of its control groups; and its rank for the
//! kernel's OOM killer.

use std::fs;
use std::path::{Path, PathBuf};

/// In bytes; `None` if neither the machine nor a control group says.
pub fn available() -> Option<u64> {
    let read = |path: &Path| fs::read_to_string(path).ok();
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| total(&text));
    let own = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let mounts = read(Path::new("/proc/self/mountinfo")).unwrap_or_default();
    machine.into_iter().chain(limit_files(&own, &mounts).iter().filter_map(|file| limit(&read(file)?))).min()
}

/// Makes the kernel's OOM killer choose this process, and those that it starts, before its parent. Raising the own score
/// needs no privilege.
pub fn raise_oom_score() {
    const FILE: &str = "/proc/self/oom_score_adj";
    const STEP: i32 = 200;
    const MAX_SCORE: i32 = 1_000;
    let inherited = fs::read_to_string(FILE).ok().and_then(|text| text.trim().parse::<i32>().ok());
    // Without that file the score stays as it is.
    let _ = fs::write(FILE, (inherited.unwrap_or(0) + STEP).min(MAX_SCORE).to_string());
}

/// `max`, or a number; version one has a very large number instead of `max`.
fn limit(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// The files with the limits of the own group and of all groups above it that are visible here.
fn limit_files(own: &str, mounts: &str) -> Vec<PathBuf> {
    let files = |line| {
        let Mount { version, root, mount_point } = Mount::parse(line)?;
        let group = version.group(own)?;
        // Groups above the mount are not visible; in a cgroup namespace the group may be called `/../..`.
        let below = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
        let is_plain = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        let folder = mount_point.join(if is_plain { below } else { Path::new("") });
        let all = folder.ancestors().take_while(|folder| folder.starts_with(&mount_point));
        Some(all.map(|folder| folder.join(version.file())).collect::<Vec<_>>())
    };
    mounts.lines().filter_map(files).flatten().collect()
}

#[derive(Clone, Copy)]
enum Version {
    One,
    Two,
}

struct Mount<'a> {
    version: Version,
    /// The group that is at the mount point.
    root: &'a str,
    mount_point: PathBuf,
}

impl<'a> Mount<'a> {
    /// `36 35 98:0 ROOT PLACE rw,noatime - cgroup cgroup rw,memory`
    fn parse(line: &'a str) -> Option<Self> {
        let (mount, system) = line.split_once(" - ")?;
        let mut system = system.split(' ');
        let version = match (system.next()?, system.nth(1)?) {
            ("cgroup2", _) => Version::Two,
            ("cgroup", options) if options.split(',').any(|one| one == "memory") => Version::One,
            _ => return None,
        };
        let mut mount = mount.split(' ').skip(3);
        Some(Self { version, root: mount.next()?, mount_point: PathBuf::from(mount.next()?) })
    }
}

impl Version {
    fn file(self) -> &'static str {
        match self {
            Self::One => "memory.limit_in_bytes",
            Self::Two => "memory.max",
        }
    }

    /// `4:memory,other:/our/group`, `0::/our/group`
    fn group(self, own: &str) -> Option<&str> {
        own.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (number, controllers, group) = (parts.next()?, parts.next()?, parts.next()?);
            let is_it = match self {
                Self::One => controllers.split(',').any(|one| one == "memory"),
                Self::Two => number == "0" && controllers.is_empty(),
            };
            is_it.then_some(group)
        })
    }
}

/// `MemTotal:       24588612 kB`
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_the_machine_is_read() {
        assert_eq!(total("MemTotal:       24588612 kB\nMemFree: 1 kB\n"), Some(24588612 << 10));
        assert_eq!(total("nothing"), None);
        assert_eq!((limit("max\n"), limit("734003200\n")), (None, Some(734_003_200)));
    }

    #[test]
    fn the_limits_of_the_own_group_and_of_all_above_it_count() {
        let two = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let one = "31 23 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n\
                   32 23 0:28 / /sys/fs/cgroup/pids rw shared:9 - cgroup cgroup rw,pids\n";
        let files = |own, mounts| -> Vec<String> {
            limit_files(own, mounts).iter().map(|file| file.display().to_string()).collect()
        };
        let service = "0::/system.slice/hearth.service\n";
        let expected = ["/system.slice/hearth.service", "/system.slice", ""];
        assert_eq!(files(service, two), expected.map(|group| format!("/sys/fs/cgroup{group}/memory.max")));
        let hybrid = "4:memory:/a/b\n3:cpuset:/\n0::/\n";
        let expected = ["/a/b", "/a", ""].map(|group| format!("/sys/fs/cgroup/memory{group}/memory.limit_in_bytes"));
        assert_eq!(files(hybrid, one), expected);
        // A container: its group is at the mount point, or it has a cgroup namespace of its own.
        let bound = one.replacen(" / ", " /docker/abc ", 1);
        let expected = ["/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        assert_eq!(files("4:memory:/docker/abc\n", &bound), expected);
        assert_eq!(files("4:memory:/\n", one), expected);
        assert_eq!(files("0::/../../x\n", two), ["/sys/fs/cgroup/memory.max"]);
        assert_eq!(files("", ""), [""; 0]);
    }
}
