//! Sandboxes behind a kernel written in Go: gVisor's `runsc`. System calls of a program are
//! answered by that kernel, which itself may make few calls to the machine's. Slower to start and
//! at file work than `process`, and harder to escape.
//!
//! | file | |
//! |---|---|
//! | `container.rs` | one container of `runsc` |
//! | `bundle.rs` | its specification: files, limits, the agent |
//! | `template.rs` | a checkpoint that others start from |
//!
//! The agent is the first process; its connection is the standard input that `runsc` was given. The
//! files are the machine's own system, read-only, or those of an image; what is written is in
//! memory. There is no network but a loopback: connections to the proxy go over the agent's stream.
//! The first sandbox of a shape is started with its interpreters and checkpointed as a template;
//! the following ones are restored from it, as fast as an empty one starts. Where `runsc` cannot do
//! that, each is started from scratch.
//!
//! Everything lies below one folder for each server, `FOLDER/PID`: the state that `runsc` keeps, a
//! root that all sandboxes share, a bundle for each, the templates. Folders of servers that have
//! ended are swept.

mod bundle;
mod container;
mod template;

use std::collections::HashMap;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_core::ByteSize;
use hearth_sandbox_spawner::cgroup::{CgroupHierarchies, SandboxCgroups};
use hearth_sandbox_spawner::{SandboxNetwork, SandboxSpec};
use tokio::sync::OnceCell;

use self::container::{Container, Running, StartFrom};
use self::template::Template;
use super::blocking::{asynchronous, blocking};
use crate::driver::{
    About, BootError, BootSpec, Booted, BoxFuture, Driver, DriverName, NetworkReach, Probe, ProbeNote, RootImage,
    Unavailable,
};
use crate::drivers::removal::remove_tree;

pub const NAME: DriverName = DriverName("gvisor");

/// gVisor's kernel needs threads of its own, beside those of the programs.
const PROCESSES: u32 = 2048;
/// What gVisor's kernel takes for itself, beside the programs' memory.
const OWN_MEMORY: ByteSize = ByteSize::mb(96);

/// By image and size; `None` where no template could be made.
type Templates = HashMap<(RootImage, ByteSize), Arc<OnceCell<Option<Template>>>>;

pub struct GVisor {
    runsc: Option<PathBuf>,
    folder: PathBuf,
    hierarchies: CgroupHierarchies,
    templates: Mutex<Templates>,
}

impl GVisor {
    /// `folder` holds its files while it runs; several servers may share it.
    pub fn new(folder: &Path) -> Self {
        let places = ["/usr/local/bin/runsc", "/usr/bin/runsc", "/usr/local/sbin/runsc", "/usr/sbin/runsc"];
        let runsc = places.iter().map(PathBuf::from).find(|path| path.exists());
        Self::with(runsc, folder)
    }

    /// The same with that `runsc`.
    pub fn with(runsc: Option<PathBuf>, folder: &Path) -> Self {
        Self { runsc, folder: folder.to_owned(), hierarchies: CgroupHierarchies::find(), templates: Mutex::default() }
    }

    fn own(&self) -> PathBuf {
        self.folder.join(std::process::id().to_string())
    }

    async fn start(&self, spec: &BootSpec) -> Result<Booted, BootError> {
        let key = (spec.image.clone(), spec.shape.memory);
        let cell = self.lock().entry(key.clone()).or_default().clone();
        let (container, plan, groups) = self.prepare(&format!("template-{}", spec.id), spec)?;
        let image = spec.image.clone();
        // One is made, however many callers want it at once.
        let make = async || {
            let made = blocking(move || Template::make(container, &image, &plan, groups)).await;
            // A permanent error shows when the sandbox itself is started.
            made.inspect_err(|error| tracing::debug!(%error, "gVisor template not made")).ok()
        };
        let template = cell.get_or_init(make).await.clone();
        let (container, plan, groups) = self.prepare(&spec.id.to_string(), spec)?;
        if let Some(template) = template {
            let (copied, image) = ((container.clone(), plan.clone(), groups.clone()), spec.image.clone());
            match blocking(move || template.copy(copied.0, &image, &copied.1, copied.2)).await {
                Ok((running, agent)) => return booted(running, agent),
                Err(error) => {
                    tracing::debug!(%error, "gVisor template failed, removing it");
                    self.lock().remove(&key);
                }
            }
        }
        let image = spec.image.clone();
        let (running, agent) = blocking(move || container.start(&image, &plan, groups, &StartFrom::Scratch)).await?;
        booted(running, agent)
    }

    /// A container of that name, its limits, and its control groups.
    fn prepare(&self, name: &str, spec: &BootSpec) -> Result<(Container, SandboxSpec, SandboxCgroups), BootError> {
        let Some(runsc) = self.runsc.clone() else { return Err(BootError { reason: "there is no runsc".to_owned() }) };
        let plan = SandboxSpec {
            name: format!("gvisor-{name}"),
            memory: spec.shape.memory.bytes() + OWN_MEMORY.bytes(),
            millicpus: u32::from(spec.shape.cpus) * 1000,
            processes: PROCESSES,
            disk: spec.shape.memory.bytes() / 2,
            image: None,
            network: SandboxNetwork::Loopback,
        };
        let groups = self.hierarchies.groups(std::process::id(), &plan.name);
        Ok((Container { runsc, own: self.own(), name: name.to_owned() }, plan, groups))
    }

    fn lock(&self) -> MutexGuard<'_, Templates> {
        // Nothing that can panic runs under this lock.
        self.templates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn booted(running: Running, agent: UnixStream) -> Result<Booted, BootError> {
    Ok(Booted { instance: Box::new(running), agent: Box::new(asynchronous(agent)?), uplink: None })
}

impl Driver for GVisor {
    fn name(&self) -> DriverName {
        NAME
    }

    fn reach(&self) -> NetworkReach {
        NetworkReach::Listed
    }

    fn probe(&self) -> BoxFuture<'_, Result<Probe, Unavailable>> {
        Box::pin(async {
            let no = |reason: String| Err(Unavailable { driver: NAME, reason });
            let Some(runsc) = &self.runsc else {
                return no("there is no runsc: install gVisor (Debian's package runsc, of 2024 or later)".to_owned());
            };
            let version = Command::new(runsc).arg("--version").output();
            let version = match version {
                Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
                Ok(output) => return no(format!("{} does not work: {}", runsc.display(), output.status)),
                Err(error) => return no(format!("{} cannot be started: {error}", runsc.display())),
            };
            let version = version.lines().next().unwrap_or_default().to_owned();
            let notes = self
                .hierarchies
                .missing
                .iter()
                .map(|why| ProbeNote::new(About::Limits, format!("limits are missing: {why}")))
                .collect();
            Ok(Probe { summary: format!("{version} (systrap)"), notes })
        })
    }

    fn boot<'a>(&'a self, spec: &'a BootSpec) -> BoxFuture<'a, Result<Booted, BootError>> {
        Box::pin(self.start(spec))
    }

    fn sweep(&self) -> BoxFuture<'_, usize> {
        let (runsc, folder) = (self.runsc.clone(), self.folder.clone());
        Box::pin(async {
            let swept = tokio::task::spawn_blocking(move || runsc.map_or(0, |runsc| sweep(&runsc, &folder)));
            swept.await.unwrap_or_default()
        })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        let own = self.own();
        self.lock().clear();
        // There may be none.
        Box::pin(async move { drop(tokio::task::spawn_blocking(move || remove_tree(&own)).await) })
    }
}

/// Ends the sandboxes of servers that have ended.
fn sweep(runsc: &Path, folder: &Path) -> usize {
    let Ok(servers) = fs::read_dir(folder) else { return 0 };
    let mut swept = 0;
    for server in servers.flatten() {
        let own = server.path();
        let pid = server.file_name();
        if Path::new("/proc").join(&pid).exists() || pid.to_string_lossy().parse::<u32>().is_err() {
            continue;
        }
        for bundle in fs::read_dir(own.join("bundles")).into_iter().flatten().flatten() {
            let name = bundle.file_name().to_string_lossy().into_owned();
            let container = Container { runsc: runsc.to_owned(), own: own.clone(), name };
            if let Err(error) = container.delete() {
                tracing::debug!(%error, "stale gVisor sandbox was gone already");
            }
            swept += 1;
        }
        // What is left is tried again by the next server.
        let _ = remove_tree(&own);
    }
    swept
}
