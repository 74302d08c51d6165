//! The spawner: a process with one thread, which prepares what sandboxes have in common and then makes one after the other,
//! until its driver closes the channel.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use super::birth::{Born, Users, bear};
use super::cgroup::{Controller, Hierarchies};
use super::confine::{self, Cell};
use super::init::{self, Birthplace};
use super::plan::{Ask, Enclosure, Facilities, Network, Plan, Said};
use super::template::{Template, Workshop};
use super::{Failed, Step, channel, enclosure, mounts};
use crate::landlock::Abi;
use crate::seccomp::{self, Filter};
use crate::slices::put_first;

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
    users: Users,
    filter: Filter,
    /// For enclosures.
    monitor_filter: Filter,
    agent: OwnedFd,
}

/// Serves a driver over `driver` until it closes its end.
///
/// Must be called by a process that has only ever had one thread, and does nothing else: its mounts become its own, and its
/// children are not waited for.
pub fn serve(driver: BorrowedFd<'_>, programs: Programs) -> io::Result<()> {
    let mut spawner = match Spawner::prepare(programs) {
        Ok(spawner) => spawner,
        Err(failed) => return channel::send(driver, &Said::Unable { reason: failed.to_string() }, &[]),
    };
    channel::send(driver, &Said::Ready(spawner.facilities()), &[])?;
    while let Some((ask, fds)) = channel::receive::<Ask>(driver)? {
        match ask {
            Ask::Enclose { ticket, enclosure } => match spawner.enclose(&enclosure, &fds) {
                Ok(born) => {
                    let mut fds = vec![born.pidfd.as_fd()];
                    fds.extend(born.opened.as_ref().map(AsFd::as_fd));
                    channel::send(driver, &Said::Created { ticket, pid: born.pid }, &fds)?;
                }
                Err(failed) => channel::send(driver, &Said::Failed { ticket, reason: failed.to_string() }, &[])?,
            },
            Ask::Create { ticket, plan } => match spawner.create(&plan) {
                Ok((born, connection)) => {
                    let mut fds = vec![connection.as_fd(), born.pidfd.as_fd()];
                    fds.extend(born.opened.as_ref().map(AsFd::as_fd));
                    channel::send(driver, &Said::Created { ticket, pid: born.pid }, &fds)?;
                }
                Err(failed) => channel::send(driver, &Said::Failed { ticket, reason: failed.to_string() }, &[])?,
            },
        }
    }
    Ok(())
}

impl Spawner {
    fn prepare(programs: Programs) -> Result<Self, Failed> {
        if !seccomp::is_there() {
            return Err(Failed { step: "the filter of system calls", error: io::ErrorKind::Unsupported.into() });
        }
        // SAFETY: children are reaped by the kernel when they are ignored; no handler is involved.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        let agent = program(programs.agent).step("the agent's program")?;
        // Before the mounts: they hide nothing of the control groups, but need not be asked through.
        let hierarchies = Hierarchies::find();
        let users = enter_own_mounts()?;
        let mut spawner = Self {
            workshop: Workshop::new(programs.typescript)?,
            templates: HashMap::new(),
            enclosures: HashMap::new(),
            hierarchies,
            users,
            filter: Filter::for_sandbox(),
            monitor_filter: Filter::for_monitor(),
            agent,
        };
        // What most sandboxes have; and whether it can be had at all is told at once.
        spawner.template(&None, Network::Loopback)?;
        Ok(spawner)
    }

    fn facilities(&self) -> Facilities {
        Facilities {
            limits: self.hierarchies.names(),
            without_limits: self.hierarchies.missing.clone(),
            landlock: Abi::of_kernel().ok().map(|abi| abi.0),
            own_users: matches!(self.users, Users::Unused { .. }),
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
        let place = Birthplace {
            template: &template,
            filter: &self.filter,
            agent: &self.agent,
            connection: &theirs,
            limits_memory: !self.hierarchies.holds(Controller::Memory),
        };
        let born = bear(plan, &groups, &mut self.users, |parent| init::run(plan, &place, parent))?;
        // Among the sandbox's own, where the group that they are in has no more for that. Without one it would come before
        // everybody, with as much to do as its programs make it.
        if self.hierarchies.holds(Controller::Cpu) {
            put_first(born.pid);
        }
        Ok((born, ours))
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
        let cell = Cell {
            root: &root,
            filter: &self.monitor_filter,
            fds,
            limits_memory: !self.hierarchies.holds(Controller::Memory),
        };
        bear(plan, &groups, &mut self.users, |parent| confine::run(enclosure, &cell, parent))
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
