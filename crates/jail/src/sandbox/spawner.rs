//! The spawner: a process with one thread, which prepares what sandboxes have in common and then makes one after the other,
//! until its driver closes the channel.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::birth::{Born, Users, aside, bear};
use super::cgroup::{Controller, Hierarchies};
use super::confine::{self, Cell};
use super::disk::{self, Disk, Disks};
use super::init::{self, Birthplace};
use super::plan::{Ask, Enclosure, Facilities, Network, Plan, Said};
use super::template::{Template, Workshop};
use super::{Failed, Step, channel, enclosure, mounts};
use crate::landlock::Abi;
use crate::process;
use crate::seccomp::{self, Filter, MemoryLimit};
use crate::slices::put_first;

/// A disk is made ahead so many milliseconds after the last sandbox: not while its agent starts.
const BREATH: libc::c_int = 5;

/// The programs that every sandbox brings along.
#[derive(Clone, Copy, Debug)]
pub struct Programs {
    /// Its first process.
    pub agent: &'static [u8],
    /// Turns TypeScript into JavaScript; lies at `/.hearth/typescript`.
    pub typescript: &'static [u8],
}

struct Spawner {
    workshop: Workshop,
    templates: HashMap<(Option<PathBuf>, Network), Template>,
    /// By the files and devices in it.
    enclosures: HashMap<(Vec<PathBuf>, Vec<PathBuf>), Template>,
    hierarchies: Hierarchies,
    /// What holds the memory of sandboxes.
    memory: MemoryLimit,
    users: Users,
    filter: Filter,
    /// For enclosures.
    monitor_filter: Filter,
    agent: OwnedFd,
    /// Or why there are none.
    disks: Result<Disks, String>,
    /// By the first process of the sandbox that has it.
    used: Vec<(OwnedFd, Disk)>,
    /// The size that one is to be ready of.
    wanted: Option<u64>,
}

/// Serves a driver over `driver` until it closes its end.
///
/// Must be called by a process that has only ever had one thread, and does nothing else: its mounts become its own, and its
/// children are not waited for.
pub fn serve(driver: BorrowedFd<'_>, programs: Programs) -> io::Result<()> {
    let disks = match channel::receive::<Ask>(driver)? {
        Some((Ask::Begin { disks }, _)) => disks,
        Some(_) => return Err(io::ErrorKind::InvalidData.into()),
        None => return Ok(()),
    };
    let mut spawner = match Spawner::prepare(programs, disks.as_deref()) {
        Ok(spawner) => spawner,
        Err(failed) => return channel::send(driver, &Said::Unable { reason: failed.to_string() }, &[]),
    };
    channel::send(driver, &Said::Ready(spawner.facilities()), &[])?;
    while spawner.wait(driver)? {
        let Some((ask, fds)) = channel::receive::<Ask>(driver)? else { break };
        spawner.answer(driver, ask, &fds)?;
    }
    Ok(())
}

/// What the driver is told, and the descriptors that go with it.
type Answer = (Said, Vec<OwnedFd>);

impl Spawner {
    /// Until the driver says something. Meanwhile it lets go of disks whose sandboxes have ended, and makes one ahead. False
    /// when it need not go on.
    fn wait(&mut self, driver: BorrowedFd<'_>) -> io::Result<bool> {
        loop {
            let is_idle = !self.wants_disk();
            let mut polled: Vec<_> = [driver.as_raw_fd()]
                .into_iter()
                .chain(self.used.iter().map(|(process, _)| process.as_raw_fd()))
                .map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 })
                .collect();
            let count = polled.len() as libc::nfds_t;
            // SAFETY: the call writes to as many entries as there are, which live to its end.
            let found = unsafe { libc::poll(polled.as_mut_ptr(), count, if is_idle { -1 } else { BREATH }) };
            match found {
                0 => self.prepare_disk(),
                1.. => {
                    for at in (1..polled.len()).rev().filter(|at| polled[*at].revents != 0) {
                        self.let_go(at - 1);
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
    fn let_go(&mut self, at: usize) {
        let (_process, disk) = self.used.swap_remove(at);
        // SAFETY: a spawner has one thread, and its children are reaped by the kernel. Without another process the disk stays
        // for as long as this one.
        let _ = unsafe { aside(move || disk.end()) };
    }

    fn wants_disk(&self) -> bool {
        match (&self.disks, self.wanted) {
            (Ok(disks), Some(size)) => !disks.has_ready(size),
            _ => false,
        }
    }

    fn prepare_disk(&mut self) {
        let (Ok(disks), Some(size)) = (&mut self.disks, self.wanted) else { return };
        if disks.prepare(size).is_err() {
            // The next sandbox is told why.
            self.wanted = None;
        }
    }

    fn answer(&mut self, driver: BorrowedFd<'_>, ask: Ask, fds: &[OwnedFd]) -> io::Result<()> {
        let (said, fds) = match ask {
            Ask::Begin { .. } => return Ok(()),
            Ask::Enclose { ticket, enclosure } => said(ticket, self.enclose(&enclosure, fds).map(|born| (born, None))),
            Ask::Create { ticket, .. } if !self.is_sound() => {
                (Said::Unfit { ticket, reason: "a device of its template is none any more".to_owned() }, Vec::new())
            }
            Ask::Create { ticket, plan } => said(ticket, self.create(&plan).map(|(born, agent)| (born, Some(agent)))),
        };
        channel::send(driver, &said, &fds.iter().map(AsFd::as_fd).collect::<Vec<_>>())
    }
}

fn said(ticket: u64, made: Result<(Born, Option<OwnedFd>), Failed>) -> Answer {
    match made {
        Ok((born, agent)) => {
            let fds = agent.into_iter().chain([born.pidfd]).chain(born.opened).collect();
            (Said::Created { ticket, pid: born.pid }, fds)
        }
        Err(failed) => (Said::Failed { ticket, reason: failed.to_string() }, Vec::new()),
    }
}

impl Spawner {
    fn prepare(programs: Programs, disks: Option<&Path>) -> Result<Self, Failed> {
        if !seccomp::is_there() {
            return Err(Failed { step: "the filter of system calls", error: io::ErrorKind::Unsupported.into() });
        }
        // SAFETY: children are reaped by the kernel when they are ignored; no handler is involved.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        let agent = program(programs.agent).step("the agent's program")?;
        // Before the mounts: they hide nothing of the control groups, but need not be asked through.
        let hierarchies = Hierarchies::find();
        let memory = match hierarchies.holds(Controller::Memory) {
            true => MemoryLimit::Group,
            false => MemoryLimit::Process,
        };
        one_thread().step("a process with one thread")?;
        // Before the mounts, which may cover it.
        let folder = disks.map_or_else(|| Err(io::Error::other("no folder was named for them")), disk::open_folder);
        let users = enter_own_mounts()?;
        if !mounts::is_apart().step("mounts of its own")? {
            return Err(Failed { step: "mounts of its own", error: io::ErrorKind::Other.into() });
        }
        let workshop = Workshop::new(programs.typescript)?;
        let disks = match users {
            Users::Unused { .. } => folder.and_then(|folder| Disks::new(folder, &workshop.folder)),
            Users::Own { .. } => Err(io::Error::other("the server is not root")),
        };
        let mut spawner = Self {
            workshop,
            templates: HashMap::new(),
            enclosures: HashMap::new(),
            hierarchies,
            memory,
            users,
            filter: Filter::for_sandbox(memory),
            monitor_filter: Filter::for_monitor(),
            agent,
            disks: disks.map_err(|error| error.to_string()),
            used: Vec::new(),
            wanted: None,
        };
        // What most sandboxes have; and whether it can be had at all is told at once.
        spawner.template(&None, Network::Loopback)?;
        Ok(spawner)
    }

    /// Whether what it has prepared is as it was.
    fn is_sound(&self) -> bool {
        self.templates.values().all(Template::is_sound)
    }

    fn facilities(&self) -> Facilities {
        Facilities {
            limits: self.hierarchies.names(),
            without_limits: self.hierarchies.missing.clone(),
            landlock: Abi::of_kernel().ok().map(|abi| abi.0),
            own_users: matches!(self.users, Users::Unused { .. }),
            without_disks: self.disks.as_ref().err().cloned(),
        }
    }

    fn template(&mut self, image: &Option<PathBuf>, network: Network) -> Result<Template, Failed> {
        if let Some(template) = self.templates.get(&(image.clone(), network)) {
            return Ok(template.clone());
        }
        let template = self.workshop.template(image.as_deref(), network)?;
        self.templates.insert((image.clone(), network), template.clone());
        Ok(template)
    }

    fn create(&mut self, plan: &Plan) -> Result<(Born, OwnedFd), Failed> {
        let template = self.template(&plan.image, plan.network)?;
        let (ours, theirs) = UnixStream::pair().step("the agent's connection")?;
        let (ours, theirs) = (OwnedFd::from(ours), OwnedFd::from(theirs));
        let groups = self.hierarchies.groups(std::process::id(), &plan.name);
        let owner = self.users.take();
        let disk = self.disk(plan, (owner.user, owner.group)).step("a disk")?;
        let place = Birthplace {
            template: &template,
            filter: &self.filter,
            agent: &self.agent,
            connection: &theirs,
            memory: self.memory,
            disk: disk.as_ref().map(|disk| disk.at.as_path()),
        };
        let born = match bear(plan, &groups, owner, |parent| init::run(plan, &place, parent)) {
            Ok(born) => born,
            Err(failed) => {
                disk.into_iter().for_each(Disk::end);
                return Err(failed);
            }
        };
        if let Some(disk) = disk {
            self.used.push((born.pidfd.try_clone().step("a descriptor")?, disk));
        }
        // Among the sandbox's own, where the group that they are in has no more for that. Without one it would come before
        // everybody, with as much to do as its programs make it.
        if self.hierarchies.holds(Controller::Cpu) {
            put_first(born.pid);
        }
        Ok((born, ours))
    }

    fn disk(&mut self, plan: &Plan, owner: (u32, u32)) -> io::Result<Option<Disk>> {
        let Ok(disks) = &mut self.disks else { return Ok(None) };
        self.wanted = Some(plan.disk);
        disks.take(plan.disk, owner).map(Some)
    }

    fn enclose(&mut self, enclosure: &Enclosure, fds: &[OwnedFd]) -> Result<Born, Failed> {
        let key = (enclosure.files.clone(), enclosure.devices.clone());
        let root = match self.enclosures.get(&key) {
            Some(root) => root.clone(),
            None => {
                let root = enclosure::root(&mut self.workshop, enclosure)?;
                self.enclosures.insert(key, root.clone());
                root
            }
        };
        let plan = &enclosure.plan;
        let groups = self.hierarchies.groups(std::process::id(), &plan.name);
        let cell =
            Cell { root: &root, filter: &self.monitor_filter, fds, limits_memory: self.memory == MemoryLimit::Process };
        bear(plan, &groups, self.users.take(), |parent| confine::run(enclosure, &cell, parent))
    }
}

/// Children are copies of this process, and only of this thread: another one's locks would stay taken in them for ever.
fn one_thread() -> io::Result<()> {
    match process::threads(std::process::id()).count() {
        1 => Ok(()),
        count => Err(io::Error::other(format!("it has {count}"))),
    }
}

/// Mounts that nobody else sees. Who is not root needs to be the root of a user namespace for that.
fn enter_own_mounts() -> Result<Users, Failed> {
    // SAFETY: these ask, and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    if user == 0 && unshare(libc::CLONE_NEWNS).is_ok() {
        mounts::follow().step("mounts of its own")?;
        return Ok(Users::Unused { next: std::process::id().wrapping_mul(1_009) });
    }
    unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS).step("a user namespace")?;
    fs::write("/proc/self/setgroups", "deny").step("a user namespace")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).step("a user namespace")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1")).step("a user namespace")?;
    mounts::part().step("mounts of its own")?;
    Ok(Users::Own { user, group })
}

fn unshare(what: libc::c_int) -> io::Result<()> {
    // SAFETY: takes a number, and concerns this thread, the only one.
    let done = unsafe { libc::unshare(what) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A program in memory, which nobody can change any more.
fn program(bytes: &[u8]) -> io::Result<OwnedFd> {
    // SAFETY: the name is a string that ends in a zero.
    let fd = unsafe { libc::memfd_create(c"hearth-agent".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it for us, and nobody else knows of it.
    let mut file = fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) });
    file.write_all(bytes)?;
    let seals = libc::F_SEAL_SEAL | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE;
    // SAFETY: takes numbers; the descriptor is open.
    let sealed = unsafe { libc::fcntl(fd, libc::F_ADD_SEALS, seals) };
    if sealed == 0 { Ok(file.into()) } else { Err(io::Error::last_os_error()) }
}
