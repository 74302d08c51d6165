//! The spawner: a process with one thread, which prepares what sandboxes have in common and then makes one after the other,
//! until its driver closes the channel.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::cgroup::{CgroupHierarchies, Controller};
use super::clone::{Spawned, UidMapping, run_in_child, spawn_in_namespaces};
use super::disk::{self, Disk, DiskPool};
use super::init::{self, InitContext};
use super::monitor_init::{self, MonitorContext};
use super::protocol::{HostFeatures, MonitorJail, SandboxNetwork, SandboxSpec, SpawnReply, SpawnRequest};
use super::rootfs::{RootfsBuilder, RootfsTemplate};
use super::{SpawnError, Step, monitor_rootfs, mounts, seqpacket};
use hearth_jail::landlock::Abi;
use hearth_jail::seccomp::{self, Filter, MemoryLimit};
use hearth_sys::procfs;
use hearth_sys::sched::raise_priority;

/// A disk is made ahead so many milliseconds after the last sandbox: not while its agent starts.
const DISK_PREPARE_DELAY_MS: libc::c_int = 5;

/// The programs that every sandbox brings along.
#[derive(Clone, Copy, Debug)]
pub struct Programs {
    /// Its first process.
    pub agent: &'static [u8],
    /// Turns TypeScript into JavaScript; lies at `/.hearth/typescript`.
    pub typescript: &'static [u8],
}

struct Spawner {
    rootfs_builder: RootfsBuilder,
    templates: HashMap<(Option<PathBuf>, SandboxNetwork), RootfsTemplate>,
    /// By the files and devices in it.
    monitor_roots: HashMap<(Vec<PathBuf>, Vec<PathBuf>), RootfsTemplate>,
    hierarchies: CgroupHierarchies,
    /// What holds the memory of sandboxes.
    memory: MemoryLimit,
    users: UidMapping,
    filter: Filter,
    /// For monitor_roots.
    monitor_filter: Filter,
    agent: OwnedFd,
    /// Or why there are none.
    disks: Result<DiskPool, String>,
    /// By the first process of the sandbox that has it.
    disks_in_use: Vec<(OwnedFd, Disk)>,
    /// The size that one is to be ready of.
    next_disk_size: Option<u64>,
}

/// Serves a driver over `driver` until it closes its end.
///
/// Must be called by a process that has only ever had one thread, and does nothing else: its mounts become its own, and its
/// children are not waited for.
pub fn serve(driver: BorrowedFd<'_>, programs: Programs) -> io::Result<()> {
    let disks = match seqpacket::receive::<SpawnRequest>(driver)? {
        Some((SpawnRequest::Begin { disks }, _)) => disks,
        Some(_) => return Err(io::ErrorKind::InvalidData.into()),
        None => return Ok(()),
    };
    let mut spawner = match Spawner::prepare(programs, disks.as_deref()) {
        Ok(spawner) => spawner,
        Err(failed) => return seqpacket::send(driver, &SpawnReply::Unable { reason: failed.to_string() }, &[]),
    };
    seqpacket::send(driver, &SpawnReply::Ready(spawner.features()), &[])?;
    while spawner.wait(driver)? {
        let Some((ask, fds)) = seqpacket::receive::<SpawnRequest>(driver)? else { break };
        spawner.handle(driver, ask, &fds)?;
    }
    Ok(())
}

/// What the driver is told, and the descriptors that go with it.
type ReplyWithFds = (SpawnReply, Vec<OwnedFd>);

impl Spawner {
    /// Until the driver says something. Meanwhile it lets go of disks whose sandboxes have ended, and makes one ahead. False
    /// when it need not go on.
    fn wait(&mut self, driver: BorrowedFd<'_>) -> io::Result<bool> {
        loop {
            let is_idle = !self.should_prepare_disk();
            let mut polled: Vec<_> = [driver.as_raw_fd()]
                .into_iter()
                .chain(self.disks_in_use.iter().map(|(process, _)| process.as_raw_fd()))
                .map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 })
                .collect();
            let count = polled.len() as libc::nfds_t;
            // SAFETY: the call writes to as many entries as there are, which live to its end.
            let found =
                unsafe { libc::poll(polled.as_mut_ptr(), count, if is_idle { -1 } else { DISK_PREPARE_DELAY_MS }) };
            match found {
                0 => self.prepare_disk(),
                1.. => {
                    for at in (1..polled.len()).rev().filter(|at| polled[*at].revents != 0) {
                        self.release_disk(at - 1);
                    }
                    if polled[0].revents != 0 {
                        return Ok(true);
                    }
                }
                _ => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// The disk of a sandbox that has ended. Elsewhere: it may take as long as its last writes.
    fn release_disk(&mut self, at: usize) {
        let (_process, disk) = self.disks_in_use.swap_remove(at);
        // SAFETY: a spawner has one thread, and its children are reaped by the kernel. Without another process the disk stays
        // for as long as this one.
        let _ = unsafe { run_in_child(move || disk.release()) };
    }

    fn should_prepare_disk(&self) -> bool {
        match (&self.disks, self.next_disk_size) {
            (Ok(disks), Some(size)) => !disks.has_ready(size),
            _ => false,
        }
    }

    fn prepare_disk(&mut self) {
        let (Ok(disks), Some(size)) = (&mut self.disks, self.next_disk_size) else { return };
        if disks.prepare(size).is_err() {
            // The next sandbox is told why.
            self.next_disk_size = None;
        }
    }

    fn handle(&mut self, driver: BorrowedFd<'_>, ask: SpawnRequest, fds: &[OwnedFd]) -> io::Result<()> {
        let (said, fds) = match ask {
            SpawnRequest::Begin { .. } => return Ok(()),
            SpawnRequest::CreateMonitor { ticket, jail } => {
                reply_for(ticket, self.create_monitor(&jail, fds).map(|born| (born, None)))
            }
            SpawnRequest::Create { ticket, .. } if !self.devices_intact() => (
                SpawnReply::Unfit { ticket, reason: "a device of its template is none any more".to_owned() },
                Vec::new(),
            ),
            SpawnRequest::Create { ticket, spec } => {
                reply_for(ticket, self.create(&spec).map(|(born, agent)| (born, Some(agent))))
            }
        };
        seqpacket::send(driver, &said, &fds.iter().map(AsFd::as_fd).collect::<Vec<_>>())
    }
}

fn reply_for(ticket: u64, made: Result<(Spawned, Option<OwnedFd>), SpawnError>) -> ReplyWithFds {
    match made {
        Ok((born, agent)) => {
            let fds = agent.into_iter().chain([born.pidfd]).chain(born.opened).collect();
            (SpawnReply::Created { ticket, pid: born.pid }, fds)
        }
        Err(failed) => (SpawnReply::Failed { ticket, reason: failed.to_string() }, Vec::new()),
    }
}

impl Spawner {
    fn prepare(programs: Programs, disks: Option<&Path>) -> Result<Self, SpawnError> {
        // Before anything that concerns the process as a whole.
        require_single_thread().step("a process with one thread")?;
        if !seccomp::is_supported() {
            return Err(SpawnError { step: "the filter of system calls", error: io::ErrorKind::Unsupported.into() });
        }
        // SAFETY: children are reaped by the kernel when they are ignored; no handler is involved.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        let agent = sealed_memfd(programs.agent).step("the agent's program")?;
        // Before the mounts: they hide nothing of the control groups, but need not be asked through.
        let hierarchies = CgroupHierarchies::find();
        let memory = match hierarchies.holds(Controller::Memory) {
            true => MemoryLimit::Group,
            false => MemoryLimit::Process,
        };
        // Before the mounts, which may cover it.
        let folder = disks.map_or_else(|| Err(io::Error::other("no folder was named for them")), disk::open_folder);
        let users = enter_mount_namespace()?;
        if !mounts::is_unshared().step("mounts of its own")? {
            return Err(SpawnError { step: "mounts of its own", error: io::ErrorKind::Other.into() });
        }
        let rootfs_builder = RootfsBuilder::new(programs.typescript)?;
        let disks = match users {
            UidMapping::Unused { .. } => folder.and_then(|folder| DiskPool::new(folder, &rootfs_builder.folder)),
            UidMapping::Own { .. } => Err(io::Error::other("the server is not root")),
        };
        let mut spawner = Self {
            rootfs_builder,
            templates: HashMap::new(),
            monitor_roots: HashMap::new(),
            hierarchies,
            memory,
            users,
            filter: Filter::for_sandbox(memory),
            monitor_filter: Filter::for_monitor(),
            agent,
            disks: disks.map_err(|error| error.to_string()),
            disks_in_use: Vec::new(),
            next_disk_size: None,
        };
        // What most sandboxes have; and whether it can be had at all is told at once.
        spawner.template(&None, SandboxNetwork::Loopback)?;
        Ok(spawner)
    }

    /// Whether what it has prepared is as it was.
    fn devices_intact(&self) -> bool {
        self.templates.values().all(RootfsTemplate::devices_intact)
    }

    fn features(&self) -> HostFeatures {
        HostFeatures {
            limits: self.hierarchies.controller_names(),
            without_limits: self.hierarchies.missing.clone(),
            landlock: Abi::detect().ok().map(|abi| abi.0),
            own_users: matches!(self.users, UidMapping::Unused { .. }),
            without_disks: self.disks.as_ref().err().cloned(),
        }
    }

    fn template(&mut self, image: &Option<PathBuf>, network: SandboxNetwork) -> Result<RootfsTemplate, SpawnError> {
        if let Some(template) = self.templates.get(&(image.clone(), network)) {
            return Ok(template.clone());
        }
        let template = self.rootfs_builder.template(image.as_deref(), network)?;
        self.templates.insert((image.clone(), network), template.clone());
        Ok(template)
    }

    fn create(&mut self, spec: &SandboxSpec) -> Result<(Spawned, OwnedFd), SpawnError> {
        let template = self.template(&spec.image, spec.network)?;
        let (ours, theirs) = UnixStream::pair().step("the agent's connection")?;
        let (ours, theirs) = (OwnedFd::from(ours), OwnedFd::from(theirs));
        let groups = self.hierarchies.groups(std::process::id(), &spec.name);
        let owner = self.users.take();
        let disk = self.disk(spec, (owner.user, owner.group)).step("a disk")?;
        let context = InitContext {
            template: &template,
            filter: &self.filter,
            agent: &self.agent,
            connection: &theirs,
            memory: self.memory,
            disk: disk.as_ref().map(|disk| disk.at.as_path()),
        };
        let born = match spawn_in_namespaces(spec, &groups, owner, |parent| init::run(spec, &context, parent)) {
            Ok(born) => born,
            Err(failed) => {
                disk.into_iter().for_each(Disk::release);
                return Err(failed);
            }
        };
        if let Some(disk) = disk {
            self.disks_in_use.push((born.pidfd.try_clone().step("a descriptor")?, disk));
        }
        // Raised only where a CPU group limits the sandbox. Without one its agent would come before
        // all other processes, for as much work as its programs cause.
        if self.hierarchies.holds(Controller::Cpu) {
            raise_priority(born.pid);
        }
        Ok((born, ours))
    }

    fn disk(&mut self, spec: &SandboxSpec, owner: (u32, u32)) -> io::Result<Option<Disk>> {
        let Ok(disks) = &mut self.disks else { return Ok(None) };
        self.next_disk_size = Some(spec.disk);
        disks.take(spec.disk, owner).map(Some)
    }

    fn create_monitor(&mut self, jail: &MonitorJail, fds: &[OwnedFd]) -> Result<Spawned, SpawnError> {
        let key = (jail.files.clone(), jail.devices.clone());
        let root = match self.monitor_roots.get(&key) {
            Some(root) => root.clone(),
            None => {
                let root = monitor_rootfs::build(&mut self.rootfs_builder, jail)?;
                self.monitor_roots.insert(key, root.clone());
                root
            }
        };
        let spec = &jail.spec;
        let groups = self.hierarchies.groups(std::process::id(), &spec.name);
        let monitor = MonitorContext {
            root: &root,
            filter: &self.monitor_filter,
            fds,
            limits_memory: self.memory == MemoryLimit::Process,
        };
        spawn_in_namespaces(spec, &groups, self.users.take(), |parent| monitor_init::run(jail, &monitor, parent))
    }
}

/// Children are copies of this process, and only of this thread: another one's locks would stay taken in them for ever.
fn require_single_thread() -> io::Result<()> {
    match procfs::threads(std::process::id()).count() {
        1 => Ok(()),
        count => Err(io::Error::other(format!("it has {count}"))),
    }
}

/// Enters a mount namespace of its own. Without root that takes a user namespace in which this
/// process is root.
fn enter_mount_namespace() -> Result<UidMapping, SpawnError> {
    // SAFETY: these ask, and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    if user == 0 && unshare(libc::CLONE_NEWNS).is_ok() {
        mounts::make_slave().step("mounts of its own")?;
        return Ok(UidMapping::Unused { next: std::process::id().wrapping_mul(1_009) });
    }
    unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS).step("a user namespace")?;
    fs::write("/proc/self/setgroups", "deny").step("a user namespace")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).step("a user namespace")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1")).step("a user namespace")?;
    mounts::make_private().step("mounts of its own")?;
    Ok(UidMapping::Own { user, group })
}

fn unshare(what: libc::c_int) -> io::Result<()> {
    // SAFETY: takes a number, and concerns this thread, the only one.
    let done = unsafe { libc::unshare(what) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A program in a sealed memfd: its content cannot change any more.
fn sealed_memfd(bytes: &[u8]) -> io::Result<OwnedFd> {
    // SAFETY: the name is a string that ends in a zero.
    let fd = unsafe { libc::memfd_create(c"hearth-agent".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made the descriptor; it has no other owner.
    let mut file = fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.write_all(bytes)?;
    let seals = libc::F_SEAL_SEAL | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE;
    // SAFETY: takes numbers; the descriptor is open.
    let sealed = unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, seals) };
    if sealed == 0 { Ok(file.into()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_process_with_several_threads_is_no_spawner() {
        let (release, wait) = mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv());
        let (driver, ours) = seqpacket::pair().unwrap();
        seqpacket::send(driver.as_fd(), &SpawnRequest::Begin { disks: None }, &[]).unwrap();
        serve(ours.as_fd(), Programs { agent: &[], typescript: &[] }).unwrap();
        let (reply, _) = seqpacket::receive::<SpawnReply>(driver.as_fd()).unwrap().unwrap();
        drop(release);
        other.join().unwrap().unwrap_err();
        match reply {
            SpawnReply::Unable { reason } => assert!(reason.contains("a process with one thread"), "{reason}"),
            _ => panic!("it serves"),
        }
    }
}
