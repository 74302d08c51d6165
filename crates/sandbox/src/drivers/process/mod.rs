//! Sandboxes made of namespaces, on the machine's own kernel: started in a few milliseconds, with
//! no program that Hearth does not bring along. What isolates them is in `hearth_sandbox_spawner`.
//!
//! | file | |
//! |---|---|
//! | `spawner.rs` | the process that makes them, and requests to it |
//! | `process_budget.rs` | how many processes all of them may have |
//! | `instance.rs` | one sandbox |
//! | `uplink.rs` | connections out of a sandbox |
//! | `spawner_handle.rs` | which spawners stay alive, also after an upgrade |
//!
//! The spawner is started on first use, and again if it should die; its sandboxes die with it. One
//! that does not answer, or reports that it is unfit, is replaced, and ends with the last of its
//! sandboxes.

pub(super) mod instance;
mod process_budget;
mod spawner;
mod spawner_handle;
mod uplink;

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;

use hearth_sandbox_spawner::cgroup::{CgroupHierarchies, Controller, remaining_tasks};
use hearth_sandbox_spawner::{HostFeatures, Programs, SandboxNetwork, SandboxSpec};
use tokio::sync::Mutex;

use self::process_budget::ProcessBudget;
use self::spawner::{NotCreated, Spawner};
use self::spawner_handle::InheritedSpawners;
use crate::driver::{
    About, BootError, BootSpec, Booted, BoxFuture, Driver, DriverName, Probe, ProbeNote, RootImage, Unavailable,
};
use crate::id::SandboxId;
use crate::network::NetworkShape;
use crate::upgrade::UpgradePayload;

pub const NAME: DriverName = DriverName("process");

/// Processes and threads of a sandbox together: enough for a build, not for a fork bomb.
const MAX_PROCESSES: u32 = 512;
/// The same where no control group counts them, nor the data in their sockets.
const MAX_PROCESSES_UNCOUNTED: u32 = 128;
/// Spawners that are tried for one sandbox.
const MAX_SPAWNERS_TRIED: u32 = 2;

/// How the spawner is started: the program and its arguments. The program must call
/// [`serve_spawner`] before it has a second thread.
#[derive(Clone, Debug)]
pub struct SpawnerCommand {
    pub program: OsString,
    pub arguments: Vec<OsString>,
}

pub struct Process {
    command: SpawnerCommand,
    hierarchies: CgroupHierarchies,
    disks: Option<PathBuf>,
    budget: Arc<ProcessBudget>,
    spawner: Mutex<Option<Arc<Spawner>>>,
    inherited: InheritedSpawners,
}

/// Runs the spawner: serves the driver at the other end of standard input until that is closed.
pub fn serve_spawner() -> io::Result<()> {
    let programs =
        Programs { agent: hearth_sandbox_guest_binaries::AGENT, typescript: hearth_sandbox_guest_binaries::TYPESCRIPT };
    hearth_sandbox_spawner::serve(io::stdin().as_fd(), programs)
}

impl Process {
    pub fn new(command: SpawnerCommand) -> Self {
        let hierarchies = CgroupHierarchies::find();
        let most = if hierarchies.holds(Controller::Pids) { MAX_PROCESSES } else { MAX_PROCESSES_UNCOUNTED };
        let budget = ProcessBudget::new(remaining_tasks(), most);
        Self {
            command,
            hierarchies,
            disks: None,
            budget,
            spawner: Mutex::default(),
            inherited: InheritedSpawners::default(),
        }
    }

    /// With a folder whose file system holds the disks of sandboxes; no named file is made in it.
    /// Without one they write into memory.
    pub fn with_disks(self, folder: PathBuf) -> Self {
        Self { disks: Some(folder), ..self }
    }

    /// The spawner, started if none is alive.
    async fn spawner(&self) -> Result<Arc<Spawner>, BootError> {
        let mut spawner = self.spawner.lock().await;
        if let Some(spawner) = spawner.as_ref().filter(|spawner| spawner.is_alive()) {
            return Ok(spawner.clone());
        }
        let started = Arc::new(Spawner::start(&self.command, self.hierarchies.clone(), self.disks.clone()).await?);
        *spawner = Some(started.clone());
        Ok(started)
    }

    /// The next sandbox is made by a new spawner; those of the old one keep it.
    async fn replace_spawner(&self, unfit: &Arc<Spawner>, reason: &str) {
        let mut spawner = self.spawner.lock().await;
        if spawner.as_ref().is_some_and(|now| Arc::ptr_eq(now, unfit)) {
            *spawner = None;
            tracing::warn!(reason, "sandbox spawner replaced");
        }
    }

    async fn inspect(&self) -> Result<Probe, Unavailable> {
        let unavailable = |error: BootError| Unavailable { driver: NAME, reason: with_advice(error.reason) };
        let spawner = self.spawner().await.map_err(unavailable)?;
        Ok(probe(spawner.host_features()))
    }

    async fn start(&self, spec: &BootSpec) -> Result<Booted, BootError> {
        let mut reason = String::new();
        for _ in 0..MAX_SPAWNERS_TRIED {
            let spawner = self.spawner().await?;
            let share = self.budget.reserve()?;
            match spawner.create(sandbox_spec(spec, share.processes()), share).await {
                Ok(booted) => return Ok(booted),
                Err(NotCreated::Failed(error)) => return Err(error),
                Err(NotCreated::Unfit(why)) => {
                    self.replace_spawner(&spawner, &why).await;
                    reason = why;
                }
            }
        }
        Err(BootError { reason: format!("the spawner does not work: {reason}") })
    }
}

fn sandbox_spec(spec: &BootSpec, processes: u32) -> SandboxSpec {
    let memory = spec.shape.memory.bytes();
    SandboxSpec {
        name: spec.id.to_string(),
        memory,
        millicpus: u32::from(spec.shape.cpus) * 1_000,
        processes,
        disk: spec.shape.disk.bytes(),
        image: match &spec.image {
            RootImage::Host => None,
            RootImage::Folder(folder) => Some(folder.clone()),
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
        Box::pin(self.inspect())
    }

    fn boot<'a>(&'a self, spec: &'a BootSpec) -> BoxFuture<'a, Result<Booted, BootError>> {
        Box::pin(self.start(spec))
    }

    fn sweep(&self) -> BoxFuture<'_, usize> {
        Box::pin(async { self.hierarchies.remove_stale() })
    }

    fn import(&self, id: SandboxId, payload: UpgradePayload) -> Result<Booted, BootError> {
        self.inherited.import(&self.hierarchies, &self.budget, id, payload)
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(spawner) = self.spawner.lock().await.take() {
                spawner.end().await;
            }
        })
    }
}

fn probe(host_features: &HostFeatures) -> Probe {
    let mut notes = Vec::new();
    let limits = &host_features.limits;
    let holds = |name: &str| limits.iter().any(|limit| limit == name);
    if let Some(reason) = &host_features.without_limits {
        let missing: Vec<_> = ["memory", "pids", "cpu"].into_iter().filter(|name| !holds(name)).collect();
        notes.push(ProbeNote::new(
            About::Limits,
            format!(
                "no control groups for {} ({reason}): each process is limited by itself, a sandbox as a whole only by what \
                 its agent sees several times a second; run the server as root, or in a service with Delegate=yes",
                missing.join(", ")
            ),
        ));
    }
    if host_features.landlock.is_none() {
        let text = "the kernel has no Landlock (Linux 5.13): what can be read and written is held by mounts alone";
        notes.push(ProbeNote::new(About::Wall, text));
    }
    if !host_features.own_users {
        let text = "all sandboxes run as the server's own user, because it is not root";
        notes.push(ProbeNote::new(About::Wall, text));
    }
    if let Some(reason) = &host_features.without_disks {
        let text =
            format!("there are no disks ({reason}): what sandboxes write is in memory, half of their own at most");
        notes.push(ProbeNote::new(About::Comfort, text));
    }
    let landlock = host_features.landlock.map(|version| format!(", Landlock {version}")).unwrap_or_default();
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
