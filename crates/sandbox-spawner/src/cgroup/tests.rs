//! With folders that stand for the kernel's: what is written where. What the kernel then does is seen by the sandboxes' tests.

use tempfile::TempDir;

use super::*;
use crate::SandboxNetwork;

const MOUNTS: &str = "30 25 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                      31 25 0:27 /docker/a /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                      32 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
const OWN: &str = "4:memory:/a/b\n3:pids:/docker/a/c\n2:cpu,cpuacct:/\n0::/\n";

/// A process that there cannot be.
const GONE_PID: u32 = u32::MAX;

#[test]
fn each_controller_is_found_where_it_is() {
    let folder = |controller| find_hierarchy(MOUNTS, OWN, controller).unwrap().folder;
    assert_eq!(folder(Controller::Memory), Path::new("/sys/fs/cgroup/memory/a/b"));
    assert_eq!(folder(Controller::Pids), Path::new("/sys/fs/cgroup/pids/c"));
    assert_eq!(folder(Controller::Cpu), Path::new("/sys/fs/cgroup/cpu,cpuacct/"));
    assert!(find_hierarchy("", OWN, Controller::Cpu).is_none());
}

/// A tree of version two with the server in `/system/hearth`.
struct Two {
    root: TempDir,
}

impl Two {
    fn new(controllers: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        for group in ["", "system", "system/hearth"] {
            fs::create_dir_all(root.path().join(group)).unwrap();
            fs::write(root.path().join(group).join("cgroup.controllers"), controllers).unwrap();
        }
        Self { root }
    }

    /// The kernel lets no group with processes of its own give controllers to others.
    fn occupy(&self, group: &str) {
        fs::create_dir(self.root.path().join(group).join("cgroup.subtree_control")).unwrap();
    }

    fn find(&self) -> CgroupHierarchies {
        let mounts = format!("40 25 0:30 / {} rw - cgroup2 cgroup2 rw,nsdelegate\n", self.root.path().display());
        CgroupHierarchies::parse(&mounts, "0::/system/hearth\n")
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.root.path().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }
}

fn spec() -> SandboxSpec {
    SandboxSpec {
        name: "a".to_owned(),
        memory: 64 << 20,
        millicpus: 1_500,
        processes: 50,
        disk: 1 << 20,
        image: None,
        network: SandboxNetwork::Loopback,
    }
}

#[test]
fn version_two_limits_in_one_folder_below_the_servers_own() {
    let two = Two::new("cpuset cpu io memory pids\n");
    let found = two.find();
    assert_eq!(
        (found.controller_names(), found.missing.clone()),
        (["memory", "pids", "cpu"].map(str::to_owned).to_vec(), None)
    );
    let groups = found.groups(GONE_PID, "a");
    let entry = groups.make(&spec()).unwrap();
    let folder = format!("system/hearth/{CGROUP_DIR}/{GONE_PID}.a");
    for (file, value) in [("memory.max", "67108864"), ("pids.max", "50"), ("cpu.max", "150000 100000")] {
        assert_eq!(two.read(&format!("{folder}/{file}")), value, "{file}");
    }
    assert!(!two.root.path().join(&folder).join("memory.swap.max").exists(), "not every kernel counts swap");
    assert!(groups.exist());
    assert!(entry.clone_target().is_some() && entry.tasks.is_empty(), "processes are born in it");
    groups.add_process(77).unwrap();
    assert_eq!(two.read(&format!("{folder}/cgroup.procs")), "77");
}

#[test]
fn version_two_is_read_where_it_counts() {
    let two = Two::new("cpu memory pids\n");
    let groups = two.find().groups(GONE_PID, "a");
    assert_eq!(groups.usage(), CgroupUsage::default());
    groups.make(&spec()).unwrap();
    let folder = two.root.path().join(format!("system/hearth/{CGROUP_DIR}/{GONE_PID}.a"));
    for (file, text) in
        [("memory.current", "4096\n"), ("pids.current", "3\n"), ("cpu.stat", "usage_usec 2500000\nuser_usec 1\n")]
    {
        fs::write(folder.join(file), text).unwrap();
    }
    let usage = CgroupUsage { memory: Some(4_096), processes: Some(3), cpu: Some(Duration::from_millis(2_500)) };
    assert_eq!(groups.usage(), usage);
}

#[test]
fn a_group_with_processes_of_its_own_leaves_its_sandboxes_to_the_root() {
    let two = Two::new("cpu memory pids\n");
    two.occupy("system/hearth");
    let groups = two.find().groups(GONE_PID, "a");
    groups.make(&spec()).unwrap();
    assert_eq!(two.read(&format!("{CGROUP_DIR}/{GONE_PID}.a/memory.max")), "67108864");
}

#[test]
fn what_cannot_be_limited_is_told() {
    let two = Two::new("cpu pids\n");
    let found = two.find();
    assert!(!found.holds(Controller::Memory) && found.holds(Controller::Cpu));
    assert_eq!(found.missing.as_deref(), Some("no control group has the controller memory"));
    let full = Two::new("cpu memory pids\n");
    full.occupy("system/hearth");
    full.occupy("");
    let found = full.find();
    assert_eq!(found.controller_names(), [""; 0]);
    assert_eq!(found.missing.as_deref(), Some("cpu: permission denied"));
}

#[test]
fn groups_of_owners_that_are_gone_are_swept() {
    let two = Two::new("cpu memory pids\n");
    let found = two.find();
    let folder = two.root.path().join("system/hearth").join(CGROUP_DIR);
    for owner in [GONE_PID, std::process::id()] {
        fs::create_dir(folder.join(format!("{owner}.a"))).unwrap();
    }
    assert_eq!((found.remove_stale(), found.remove_stale()), (1, 0));
    assert!(found.groups(std::process::id(), "a").exist() && !found.groups(GONE_PID, "a").exist());
}

#[test]
fn the_room_for_tasks_is_the_least_of_all_groups_above() {
    let top = tempfile::tempdir().unwrap();
    let inner = top.path().join("service/inner");
    fs::create_dir_all(&inner).unwrap();
    assert_eq!(remaining_tasks_in(&inner), None);
    let write = |folder: &Path, most: &str, now: &str| {
        fs::write(folder.join("pids.max"), most).unwrap();
        fs::write(folder.join("pids.current"), now).unwrap();
    };
    write(&inner, "max", "7");
    assert_eq!(remaining_tasks_in(&inner), None);
    write(&top.path().join("service"), "900", "60");
    assert_eq!(remaining_tasks_in(&inner), Some(840));
    write(&inner, "10", "70");
    assert_eq!(remaining_tasks_in(&inner), Some(0));
}
