//! Limits for all processes of a sandbox together: control groups, of either version, whichever of the two has a controller on
//! this machine. A sandbox has a folder in each hierarchy that holds one of its limits.
//!
//! Folders are named `OWNER.NAME`, where the owner is the spawner's process. What belongs to a process that is no more is
//! removed by the next server: the kernel keeps the folders, though nothing runs in them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::protocol::SandboxSpec;
use hearth_sys::procfs::ProcStat;

/// Below the group that the server itself is in, where that can be, so that what limits the server limits its sandboxes.
const CGROUP_DIR: &str = "hearth-sandboxes";
/// The period over which the share of processors is counted, in microseconds.
const CPU_PERIOD_US: u64 = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controller {
    Memory,
    Pids,
    Cpu,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A hierarchy, and which limits it holds.
#[derive(Clone, Debug)]
struct Hierarchy {
    version: Version,
    folder: PathBuf,
    controllers: Vec<Controller>,
}

/// Where limits can be set.
#[derive(Clone, Debug, Default)]
pub struct CgroupHierarchies {
    all: Vec<Hierarchy>,
    /// Why there are not more.
    pub missing: Option<String>,
}

/// A sandbox's groups.
#[derive(Clone, Debug)]
pub struct SandboxCgroups {
    all: Vec<(Hierarchy, PathBuf)>,
}

/// How a process of the spawner gets into a sandbox's groups. Moving another process waits until
/// every processor has passed a certain point (a grace period of RCU), 10 ms and more. A process
/// that is created in its group does not wait, and neither does a thread that moves itself.
#[derive(Debug, Default)]
pub struct CgroupEntry {
    /// The folder of version two's group: processes are born there.
    clone_target: Option<File>,
    /// Where a thread that is to be in a group of version one says so.
    tasks: Vec<File>,
}

/// What a sandbox's processes use together; what cannot be told is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CgroupUsage {
    pub memory: Option<u64>,
    pub processes: Option<u32>,
    pub cpu: Option<Duration>,
}

// === impl Controller ===

impl Controller {
    const ALL: [Self; 3] = [Self::Memory, Self::Pids, Self::Cpu];

    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
        }
    }
}

// === impl CgroupHierarchies ===

impl CgroupHierarchies {
    /// Looks which hierarchy has which controller, and makes a folder of ours in each.
    pub fn find() -> Self {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self::parse(&mounts, &own)
    }

    /// `mounts` and `own` as in a process's `mountinfo` and `cgroup`.
    fn parse(mounts: &str, own: &str) -> Self {
        let mut found = Self::default();
        for controller in Controller::ALL {
            match find_hierarchy(mounts, own, controller).map(|hierarchy| hierarchy.prepared(controller)) {
                Some(Ok(hierarchy)) => found.add(hierarchy, controller),
                Some(Err(error)) => found.missing = Some(format!("{}: {error}", controller.name())),
                None => found.missing = Some(format!("no control group has the controller {}", controller.name())),
            }
        }
        found
    }

    fn add(&mut self, hierarchy: Hierarchy, controller: Controller) {
        match self.all.iter_mut().find(|known| known.folder == hierarchy.folder) {
            Some(known) => known.controllers.push(controller),
            None => self.all.push(Hierarchy { controllers: vec![controller], ..hierarchy }),
        }
    }

    pub fn holds(&self, controller: Controller) -> bool {
        self.all.iter().any(|hierarchy| hierarchy.controllers.contains(&controller))
    }

    pub fn controller_names(&self) -> Vec<String> {
        Controller::ALL.into_iter().filter(|one| self.holds(*one)).map(|one| one.name().to_owned()).collect()
    }

    /// The groups of a sandbox, which may not exist.
    pub fn groups(&self, owner: u32, name: &str) -> SandboxCgroups {
        let all =
            self.all.iter().map(|hierarchy| (hierarchy.clone(), hierarchy.folder.join(format!("{owner}.{name}"))));
        SandboxCgroups { all: all.collect() }
    }

    /// Removes the groups of owners that are no more, and says how many sandboxes' they were.
    pub fn remove_stale(&self) -> usize {
        let mut removed = std::collections::HashSet::new();
        for folder in self.all.iter().map(|hierarchy| &hierarchy.folder) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let owner = name.split_once('.').and_then(|(owner, _)| owner.parse::<u32>().ok());
                if owner.is_some_and(has_ended) && fs::remove_dir(entry.path()).is_ok() {
                    removed.insert(name);
                }
            }
        }
        removed.len()
    }
}

/// Whether no process with this id runs; a zombie counts as ended.
fn has_ended(process: u32) -> bool {
    ProcStat::read(process).is_none_or(|process| !process.is_alive())
}

/// Where the controller is, and in which group of it this process is.
fn find_hierarchy(mounts: &str, own: &str, controller: Controller) -> Option<Hierarchy> {
    // 30 25 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
    let mounted = |kind: &str, option: Option<&str>| {
        mounts.lines().find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let mut after = after.split(' ');
            let is_kind = after.next() == Some(kind);
            let has = option
                .is_none_or(|option| after.next_back().is_some_and(|all| all.split(',').any(|one| one == option)));
            let mut before = before.split(' ').skip(3);
            let (root, at) = (before.next()?, before.next()?);
            (is_kind && has).then(|| (root.to_owned(), PathBuf::from(at)))
        })
    };
    // 4:memory:/some/group  and, of version two,  0::/some/group
    let group = |wanted: &str| {
        own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (names, path) = (fields.next()?, fields.next()?);
            names.split(',').any(|name| name == wanted).then(|| path.to_owned())
        })
    };
    let (version, (root, at), group) = match mounted("cgroup", Some(controller.name())) {
        Some(at) => (Version::One, at, group(controller.name())?),
        None => {
            let (root, at) = mounted("cgroup2", None)?;
            let there = fs::read_to_string(at.join("cgroup.controllers")).unwrap_or_default();
            if !there.split_ascii_whitespace().any(|name| name == controller.name()) {
                return None;
            }
            (Version::Two, (root, at), group("")?)
        }
    };
    // In a container the mount shows only a part of the tree.
    let below = group.strip_prefix(root.as_str()).unwrap_or(&group);
    Some(Hierarchy { version, folder: at.join(below.trim_start_matches('/')), controllers: Vec::new() })
}

/// How many tasks more this process's own groups, and those above them, let it and its children have; `None` where none of
/// them says.
pub fn remaining_tasks() -> Option<u32> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    remaining_tasks_in(&find_hierarchy(&mounts, &own, Controller::Pids)?.folder)
}

fn remaining_tasks_in(folder: &Path) -> Option<u32> {
    let number = |folder: &Path, file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u32>().ok();
    let free = |folder: &Path| Some(number(folder, "pids.max")?.saturating_sub(number(folder, "pids.current")?));
    folder.ancestors().filter_map(free).min()
}

// === impl Hierarchy ===

impl Hierarchy {
    fn prepared(mut self, controller: Controller) -> io::Result<Self> {
        let own = self.folder.clone();
        self.folder = own.join(CGROUP_DIR);
        if self.version == Version::One {
            make_group_dir(&self.folder)?;
            return Ok(self);
        }
        let enable = format!("+{}", controller.name());
        // A group of version two either has processes or gives its controllers to groups below it. Ours has a process, this
        // one; so unless it is the root of all, the sandboxes' lie beside everything else, below the root.
        let top = own.ancestors().take_while(|group| group.join("cgroup.controllers").exists()).last();
        for parent in [Some(own.as_path()), top].into_iter().flatten() {
            let folder = parent.join(CGROUP_DIR);
            if fs::write(parent.join("cgroup.subtree_control"), &enable).is_ok() && make_group_dir(&folder).is_ok() {
                fs::write(folder.join("cgroup.subtree_control"), &enable)?;
                self.folder = folder;
                return Ok(self);
            }
        }
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

fn make_group_dir(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // It may be another user's: only trying tells whether groups can be made in it.
    let trial = folder.join(format!("{}.trial", std::process::id()));
    fs::create_dir(&trial)?;
    fs::remove_dir(&trial)
}

// === impl SandboxCgroups ===

impl SandboxCgroups {
    /// Makes the groups with their limits, and opens the ways in. What was made is removed again if it fails.
    pub fn make(&self, spec: &SandboxSpec) -> io::Result<CgroupEntry> {
        let mut entry = CgroupEntry::default();
        let made = self.all.iter().try_for_each(|(hierarchy, folder)| {
            fs::create_dir(folder)?;
            for controller in &hierarchy.controllers {
                write_limit(hierarchy.version, *controller, folder, spec)?;
            }
            match hierarchy.version {
                Version::One => entry.tasks.push(File::options().write(true).open(folder.join("tasks"))?),
                Version::Two => entry.clone_target = Some(File::open(folder)?),
            }
            Ok(())
        });
        match made {
            Ok(()) => Ok(entry),
            Err(error) => {
                self.remove();
                Err(error)
            }
        }
    }

    /// Moves another process into the groups, which exist already.
    pub fn add_process(&self, pid: u32) -> io::Result<()> {
        self.all.iter().try_for_each(|(_, folder)| fs::write(folder.join("cgroup.procs"), pid.to_string()))
    }

    /// Removes what is there; of groups in which something runs, nothing.
    pub fn remove(&self) {
        for (_, folder) in &self.all {
            // Not there, or removed later.
            let _ = fs::remove_dir(folder);
        }
    }

    pub fn exist(&self) -> bool {
        self.all.iter().any(|(_, folder)| folder.exists())
    }

    /// How many processes the kernel has ended for want of memory; `None` where no group counts that.
    pub fn oom_kills(&self) -> Option<u64> {
        let (hierarchy, folder) =
            self.all.iter().find(|(hierarchy, _)| hierarchy.controllers.contains(&Controller::Memory))?;
        let file = match hierarchy.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let text = fs::read_to_string(folder.join(file)).ok()?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    }

    pub fn usage(&self) -> CgroupUsage {
        let number = |folder: &Path, file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
        let mut usage = CgroupUsage::default();
        for (hierarchy, folder) in &self.all {
            for controller in &hierarchy.controllers {
                match (controller, hierarchy.version) {
                    (Controller::Memory, Version::One) => usage.memory = number(folder, "memory.usage_in_bytes"),
                    (Controller::Memory, Version::Two) => usage.memory = number(folder, "memory.current"),
                    (Controller::Pids, _) => {
                        usage.processes = number(folder, "pids.current").and_then(|count| u32::try_from(count).ok());
                    }
                    (Controller::Cpu, Version::Two) => {
                        let stat = fs::read_to_string(folder.join("cpu.stat")).unwrap_or_default();
                        let used = stat.lines().find_map(|line| line.strip_prefix("usage_usec ")?.parse().ok());
                        usage.cpu = used.map(Duration::from_micros);
                    }
                    // Version one counts it in another hierarchy, which holds no limits.
                    (Controller::Cpu, Version::One) => {}
                }
            }
        }
        usage
    }
}

// === impl CgroupEntry ===

impl CgroupEntry {
    /// The group that a process is to be born in.
    pub fn clone_target(&self) -> Option<BorrowedFd<'_>> {
        self.clone_target.as_ref().map(AsFd::as_fd)
    }

    /// Moves the calling process, which must have one thread only, into the groups that no process
    /// is created in.
    pub fn enter(&self) -> io::Result<()> {
        // 0 stands for the writing process.
        self.tasks.iter().try_for_each(|mut tasks| tasks.write_all(b"0"))
    }
}

fn write_limit(version: Version, controller: Controller, folder: &Path, spec: &SandboxSpec) -> io::Result<()> {
    let write = |file: &str, value: String| fs::write(folder.join(file), value);
    // Not every kernel counts swap. Nor does every one let a sandbox that was idle have some more at once (a burst): an
    // interpreter that starts would be stopped for most of a period for the sake of a few milliseconds.
    let write_if_supported =
        |file: &str, value: String| if folder.join(file).exists() { write(file, value) } else { Ok(()) };
    let quota = (u64::from(spec.millicpus) * CPU_PERIOD_US / 1_000).max(1_000);
    match (controller, version) {
        (Controller::Memory, Version::One) => {
            write("memory.limit_in_bytes", spec.memory.to_string())?;
            write_if_supported("memory.memsw.limit_in_bytes", spec.memory.to_string())
        }
        (Controller::Memory, Version::Two) => {
            write("memory.max", spec.memory.to_string())?;
            write_if_supported("memory.swap.max", "0".to_owned())
        }
        (Controller::Pids, _) => write("pids.max", spec.processes.to_string()),
        (Controller::Cpu, Version::One) => {
            write("cpu.cfs_period_us", CPU_PERIOD_US.to_string())?;
            write("cpu.cfs_quota_us", quota.to_string())?;
            write_if_supported("cpu.cfs_burst_us", quota.to_string())
        }
        (Controller::Cpu, Version::Two) => {
            write("cpu.max", format!("{quota} {CPU_PERIOD_US}"))?;
            write_if_supported("cpu.max.burst", quota.to_string())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "cgroup/tests.rs"]
mod tests;
