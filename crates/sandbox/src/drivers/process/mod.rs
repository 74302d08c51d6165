//! Sandboxes made of namespaces, on the machine's own kernel: there in a few milliseconds, and no program is needed that
//! Hearth does not bring along. What isolates them is in `hearth_jail::sandbox`.
//!
//! | file | |
//! |---|---|
//! | `spawner.rs` | the process that makes them, and what is said to it |
//! | `room.rs` | how many processes all of them may have |
//! | `instance.rs` | one of them |
//! | `uplink.rs` | connections out of one |
//! | `heritage.rs` | what of them goes on in the next program |
//!
//! The spawner is started by the first who needs it, and again if it should die; its sandboxes die with it. One that does not
//! answer, or says that it is fit no more, is replaced, and ends with the last of its sandboxes.

mod heritage;
pub(super) mod instance;
mod room;
mod spawner;
mod uplink;

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;

use hearth_jail::sandbox::cgroup::{CgroupHierarchies, Controller, remaining_tasks};
use hearth_jail::sandbox::{HostFeatures, Programs, SandboxNetwork, SandboxSpec};
use tokio::sync::Mutex;

use self::heritage::Elders;
use self::room::Room;
use self::spawner::{NotCreated, Spawner};
use crate::driver::{
    About, BootError, BootSpec, Booted, BoxFuture, Driver, DriverName, Image, Note, Probe, Unavailable,
};
use crate::heritage::Bequest;
use crate::id::SandboxId;
use crate::network::NetworkShape;

pub const NAME: DriverName = DriverName("process");

/// Processes and threads of a sandbox together: enough for a build, not for a fork bomb.
const PROCESSES: u32 = 512;
/// The same where no control group counts them, nor what lies in their sockets.
const FEWER_PROCESSES: u32 = 128;
/// Spawners that are tried for one sandbox.
const TRIES: u32 = 2;

/// How the spawner is started: the program and its arguments. It must call [`serve_spawner`] before it has a second thread.
#[derive(Clone, Debug)]
pub struct SpawnerCommand {
    pub program: OsString,
    pub arguments: Vec<OsString>,
}

pub struct Process {
    command: SpawnerCommand,
    hierarchies: CgroupHierarchies,
    disks: Option<PathBuf>,
    room: Arc<Room>,
    spawner: Mutex<Option<Arc<Spawner>>>,
    elders: Elders,
}

/// The spawner's whole life: serves the driver at the other end of the standard input until that is closed.
pub fn serve_spawner() -> io::Result<()> {
    let programs = Programs { agent: hearth_agent_image::AGENT, typescript: hearth_agent_image::TYPESCRIPT };
    hearth_jail::sandbox::serve(io::stdin().as_fd(), programs)
}

impl Process {
    pub fn new(command: SpawnerCommand) -> Self {
        let hierarchies = CgroupHierarchies::find();
        let most = if hierarchies.holds(Controller::Pids) { PROCESSES } else { FEWER_PROCESSES };
        let room = Room::new(remaining_tasks(), most);
        Self { command, hierarchies, disks: None, room, spawner: Mutex::default(), elders: Elders::default() }
    }

    /// With a folder on whose file system the disks of sandboxes are; nothing with a name is made in it. Without one they
    /// write into memory.
    pub fn with_disks(self, folder: PathBuf) -> Self {
        Self { disks: Some(folder), ..self }
    }

    /// The spawner, started if there is none that lives.
    async fn spawner(&self) -> Result<Arc<Spawner>, BootError> {
        let mut spawner = self.spawner.lock().await;
        if let Some(spawner) = spawner.as_ref().filter(|spawner| spawner.is_alive()) {
            return Ok(spawner.clone());
        }
        let started = Arc::new(Spawner::start(&self.command, self.hierarchies.clone(), self.disks.clone()).await?);
        *spawner = Some(started.clone());
        Ok(started)
    }

    /// The next sandbox is made by another; those that it has made keep it.
    async fn retire(&self, unfit: &Arc<Spawner>, reason: &str) {
        let mut spawner = self.spawner.lock().await;
        if spawner.as_ref().is_some_and(|now| Arc::ptr_eq(now, unfit)) {
            *spawner = None;
            tracing::warn!(reason, "The spawner of sandboxes is replaced");
        }
    }

    async fn look(&self) -> Result<Probe, Unavailable> {
        let unavailable = |error: BootError| Unavailable { driver: NAME, reason: with_advice(error.reason) };
        let spawner = self.spawner().await.map_err(unavailable)?;
        Ok(probe(spawner.facilities()))
    }

    async fn start(&self, spec: &BootSpec) -> Result<Booted, BootError> {
        let mut reason = String::new();
        for _ in 0..TRIES {
            let spawner = self.spawner().await?;
            let place = self.room.reserve()?;
            match spawner.create(plan(spec, place.processes()), place).await {
                Ok(booted) => return Ok(booted),
                Err(NotCreated::Failed(error)) => return Err(error),
                Err(NotCreated::Unfit(why)) => {
                    self.retire(&spawner, &why).await;
                    reason = why;
                }
            }
        }
        Err(BootError { reason: format!("the spawner is of no use: {reason}") })
    }
}

fn plan(spec: &BootSpec, processes: u32) -> SandboxSpec {
    let memory = spec.shape.memory.bytes();
    SandboxSpec {
        name: spec.id.to_string(),
        memory,
        millicpus: u32::from(spec.shape.cpus) * 1_000,
        processes,
        disk: spec.shape.disk.bytes(),
        image: match &spec.image {
            Image::Host => None,
            Image::Folder(folder) => Some(folder.clone()),
        },
        network: match spec.shape.network {
            NetworkShape::Isolated => SandboxNetwork::Loopback,
            NetworkShape::Host => SandboxNetwork::Host,
        },
    }
}

impl Driver for Process {
    fn name(&self) -> DriverName {
        NAME
    }

    fn probe(&self) -> BoxFuture<'_, Result<Probe, Unavailable>> {
        Box::pin(self.look())
    }

    fn boot<'a>(&'a self, spec: &'a BootSpec) -> BoxFuture<'a, Result<Booted, BootError>> {
        Box::pin(self.start(spec))
    }

    fn sweep(&self) -> BoxFuture<'_, usize> {
        Box::pin(async { self.hierarchies.remove_stale() })
    }

    fn adopt(&self, id: SandboxId, left: Bequest) -> Result<Booted, BootError> {
        self.elders.adopt(&self.hierarchies, &self.room, id, left)
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(spawner) = self.spawner.lock().await.take() {
                spawner.end().await;
            }
        })
    }
}

fn probe(facilities: &HostFeatures) -> Probe {
    let mut notes = Vec::new();
    let limits = &facilities.limits;
    let holds = |name: &str| limits.iter().any(|limit| limit == name);
    if let Some(reason) = &facilities.without_limits {
        let missing: Vec<_> = ["memory", "pids", "cpu"].into_iter().filter(|name| !holds(name)).collect();
        notes.push(Note::new(
            About::Limits,
            format!(
                "no control groups for {} ({reason}): each process is limited by itself, a sandbox as a whole only by what \
                 its agent sees several times a second; run the server as root, or in a service with Delegate=yes",
                missing.join(", ")
            ),
        ));
    }
    if facilities.landlock.is_none() {
        let text = "the kernel has no Landlock (Linux 5.13): what can be read and written is held by mounts alone";
        notes.push(Note::new(About::Wall, text));
    }
    if !facilities.own_users {
        let text = "all sandboxes run as the server's own user, because it is not root";
        notes.push(Note::new(About::Wall, text));
    }
    if let Some(reason) = &facilities.without_disks {
        let text =
            format!("there are no disks ({reason}): what sandboxes write is in memory, half of their own at most");
        notes.push(Note::new(About::Comfort, text));
    }
    let landlock = facilities.landlock.map(|version| format!(", Landlock {version}")).unwrap_or_default();
    let groups = if limits.is_empty() { String::new() } else { format!(", control groups ({})", limits.join(", ")) };
    Probe { summary: format!("namespaces, seccomp{landlock}{groups}"), notes }
}

/// What to do about it, where that is known.
fn with_advice(reason: String) -> String {
    if reason.contains("namespace") {
        return format!(
            "{reason}; user namespaces must be allowed: see the settings user.max_user_namespaces, \
             kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns, or run the server as root"
        );
    }
    if reason.contains("/proc") {
        return format!("{reason}; in a container, run it with an unmasked /proc");
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said() {
        let all = HostFeatures {
            limits: ["memory", "pids", "cpu"].map(str::to_owned).to_vec(),
            without_limits: None,
            landlock: Some(7),
            own_users: true,
            without_disks: None,
        };
        let found = probe(&all);
        assert_eq!(found.summary, "namespaces, seccomp, Landlock 7, control groups (memory, pids, cpu)");
        assert!(found.notes.is_empty());
        let none = HostFeatures {
            limits: Vec::new(),
            without_limits: Some("memory: permission denied".to_owned()),
            landlock: None,
            own_users: false,
            without_disks: Some("the server is not root".to_owned()),
        };
        let found = probe(&none);
        assert_eq!(found.summary, "namespaces, seccomp");
        assert_eq!(found.notes.len(), 4);
        assert_eq!(found.notes[0].about, About::Limits);
        assert!(found.notes[0].text.contains("memory, pids, cpu (memory: permission denied)"));
    }
}
