//! What can be seen of a virtual machine's monitor from outside: that it has no rights, sees little and holds less.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hearth_sys::procfs::ProcStat;

/// The one process below this one that has `mark` in its command line.
pub fn monitor(mark: &str) -> u32 {
    let found = below(mark);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0]
}

/// All processes below this one that have `mark` in their command lines, in the control group of that name.
pub fn are_held_together(mark: &str, group: &str) {
    let found = below(mark);
    assert!(found.len() > 1, "it is more than one: {found:?}");
    for pid in found {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        let held = groups.lines().any(|line| line.ends_with(&format!(".{group}")));
        assert!(held, "{pid} is not in {group}: {groups}");
    }
}

fn below(mark: &str) -> Vec<u32> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let has_mark = |pid: &u32| {
        String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).contains(mark)
    };
    pids.filter(has_mark).filter(|pid| is_below(*pid, std::process::id())).collect()
}

pub fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

pub fn has_no_rights(pid: u32) {
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(status(pid, set), "0000000000000000", "{set}");
    }
    assert_eq!(status(pid, "NoNewPrivs"), "1");
    assert_eq!(status(pid, "Seccomp"), "2");
    let users = status(pid, "Uid");
    if rustix::process::geteuid().is_root() {
        assert!(users.split_whitespace().all(|user| user.parse::<u32>().unwrap() >= 1_900_000_000), "{users}");
    }
}

pub fn has_namespaces_of_its_own(pid: u32) {
    for kind in ["user", "pid", "mnt", "net", "ipc", "uts", "cgroup"] {
        let of = |process: &str| fs::read_link(format!("/proc/{process}/ns/{kind}")).unwrap();
        assert_ne!(of(&pid.to_string()), of("self"), "{kind}");
    }
    let network = fs::read_to_string(format!("/proc/{pid}/net/dev")).unwrap();
    assert_eq!(network.lines().filter(|line| line.contains(':')).count(), 1, "a loopback, which is down: {network}");
}

/// `program` is the folder that its program is in.
pub fn sees_few_files(pid: u32, program: &Path) {
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let names = |folder: &Path| -> Vec<String> {
        let found = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<_> = found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let programs = program.components().nth(1).unwrap().as_os_str().to_string_lossy().into_owned();
    let expected = ["dev", "etc", "lib", "lib64", "proc", "run", "usr", programs.as_str()];
    assert!(names(&root).iter().all(|name| expected.contains(&name.as_str())), "{:?}", names(&root));
    assert_eq!(names(&root.join("etc")), ["ld.so.cache"]);
    assert!(names(&root.join("usr")).iter().all(|name| name.starts_with("lib")), "{:?}", names(&root.join("usr")));
    assert_eq!(names(&root.join("run")), [""; 0]);
    let mut above = program;
    // Down to the program there is nothing but the way to it.
    while let Some(folder) = above.parent().filter(|folder| folder.components().count() > 1) {
        let inside = root.join(folder.strip_prefix("/").unwrap());
        if folder.starts_with("/usr") {
            break;
        }
        assert_eq!(names(&inside), [above.file_name().unwrap().to_string_lossy()]);
        above = folder;
    }
    let mounts = fs::read_to_string(format!("/proc/{pid}/mounts")).unwrap();
    for mount in mounts.lines() {
        let mut fields = mount.split(' ').skip(1);
        let (at, options) = (fields.next().unwrap(), fields.nth(1).unwrap());
        let is_read_only = options.split(',').any(|option| option == "ro");
        assert!(is_read_only || at.starts_with("/dev/") || ["/proc", "/run"].contains(&at), "{mount}");
    }
}

/// Its descriptors lead to sockets, to events and to memory without a name.
pub fn holds_nothing_of_the_machines(pid: u32) {
    for fd in fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten() {
        let Ok(to) = fs::read_link(fd.path()) else { continue };
        let to = to.to_string_lossy().into_owned();
        let harmless = ["socket:", "anon_inode:", "/memfd:hearth-", "pipe:", "/dev/null", "/dev/kvm", "/dev/urandom"];
        assert!(harmless.iter().any(|start| to.starts_with(start)), "{to}");
    }
}

/// Whether a control group of ours holds this of it, of either version.
pub fn is_held(pid: u32, controller: &str) -> bool {
    let group = group(pid, controller).or_else(|| group(pid, ""));
    group.is_some_and(|group| group.contains("hearth-sandboxes/"))
}

/// The name of a process's group in the hierarchy that has this controller; that of version two has none.
fn group(pid: u32, controller: &str) -> Option<String> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (names, path) = (fields.next()?, fields.next()?);
        names.split(',').any(|name| name == controller).then(|| path.trim_start_matches('/').to_owned())
    })
}

/// What its control group has of memory at most, of either version.
pub fn memory_limit(pid: u32) -> u64 {
    let one = group(pid, "memory").map(|path| format!("/sys/fs/cgroup/memory/{path}/memory.limit_in_bytes"));
    let two = group(pid, "").map(|path| format!("/sys/fs/cgroup/{path}/memory.max"));
    let read = |path: Option<String>| fs::read_to_string(path?).ok()?.trim().parse().ok();
    read(one).or_else(|| read(two)).expect("a limit")
}

/// Of all its threads, in user and system mode.
pub fn cpu_time(pid: u32) -> Duration {
    Duration::from_millis(ProcStat::read(pid).unwrap().ticks * 1000 / rustix::param::clock_ticks_per_second())
}

fn status(pid: u32, key: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap();
    line.trim().to_owned()
}

fn is_below(mut pid: u32, ancestor: u32) -> bool {
    while pid > 1 {
        if pid == ancestor {
            return true;
        }
        pid = ProcStat::read(pid).map_or(0, |process| process.parent);
    }
    false
}
