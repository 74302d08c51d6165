//! The spawner: a process with one thread, which prepares what sandboxes have in common and then makes one after the other,
//! until its driver closes the channel.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::birth::{Born, Users, bear};
use super::cgroup::{Controller, Hierarchies};
use super::init::Birthplace;
use super::plan::{Ask, Facilities, Network, Plan, Said};
use super::template::{Template, Workshop};
use super::{Failed, Step, channel, mounts};
use crate::landlock::Abi;
use crate::seccomp::{self, Filter};

/// The first version of node whose `stripTypeScriptTypes` turns TypeScript into JavaScript.
const STRIPS_TYPES: (u32, u32) = (22, 13);

struct Spawner {
    workshop: Workshop,
    templates: HashMap<(Option<PathBuf>, Network), Template>,
    hierarchies: Hierarchies,
    users: Users,
    filter: Filter,
    agent: OwnedFd,
    /// What the agent is told in sandboxes of the machine's own system.
    arguments: Vec<CString>,
}

/// Serves a driver over `driver` until it closes its end. `agent` is the program that every sandbox starts with.
///
/// Must be called by a process that has only ever had one thread, and does nothing else: its mounts become its own, and its
/// children are not waited for.
pub fn serve(driver: BorrowedFd<'_>, agent: &[u8]) -> io::Result<()> {
    let mut spawner = match Spawner::prepare(agent) {
        Ok(spawner) => spawner,
        Err(failed) => return channel::send(driver, &Said::Unable { reason: failed.to_string() }, &[]),
    };
    channel::send(driver, &Said::Ready(spawner.facilities()), &[])?;
    while let Some((ask, _)) = channel::receive::<Ask>(driver)? {
        match ask {
            Ask::Create { ticket, plan } => match spawner.create(&plan) {
                Ok((born, connection)) => {
                    let mut fds = vec![connection.as_fd(), born.pidfd.as_fd()];
                    fds.extend(born.listener.as_ref().map(AsFd::as_fd));
                    channel::send(driver, &Said::Created { ticket, pid: born.pid }, &fds)?;
                }
                Err(failed) => channel::send(driver, &Said::Failed { ticket, reason: failed.to_string() }, &[])?,
            },
        }
    }
    Ok(())
}

impl Spawner {
    fn prepare(agent: &[u8]) -> Result<Self, Failed> {
        if !seccomp::is_there() {
            return Err(Failed { step: "the filter of system calls", error: io::ErrorKind::Unsupported.into() });
        }
        // Before children are ignored: this one is waited for.
        let arguments = if strips_types() { Vec::new() } else { vec![c"--without=typescript".to_owned()] };
        // SAFETY: children are reaped by the kernel when they are ignored; no handler is involved.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        let agent = program(agent).step("the agent's program")?;
        // Before the mounts: they hide nothing of the control groups, but need not be asked through.
        let hierarchies = Hierarchies::find();
        let users = enter_own_mounts()?;
        let mut spawner = Self {
            workshop: Workshop::new()?,
            templates: HashMap::new(),
            hierarchies,
            users,
            filter: Filter::for_sandbox(),
            agent,
            arguments,
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
            // Of an image nothing is known; an interpreter that is too old says so itself.
            arguments: if plan.image.is_none() { &self.arguments } else { &[] },
            connection: &theirs,
            limits_memory: !self.hierarchies.holds(Controller::Memory),
        };
        Ok((bear(plan, &place, &groups, &mut self.users)?, ours))
    }
}

/// Whether the machine's node runs TypeScript. No node runs none.
fn strips_types() -> bool {
    let node = ["/usr/local/bin/node", "/usr/bin/node"].iter().find(|path| Path::new(path).exists());
    let asked = node.map(|node| Command::new(node).arg("--version").env_clear().stdin(Stdio::null()).output());
    let Some(Ok(said)) = asked else { return false };
    // v22.13.0
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let mut numbers = said.trim().trim_start_matches('v').split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= STRIPS_TYPES
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
