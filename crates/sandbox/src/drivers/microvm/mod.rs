//! Sandboxes with a kernel of their own: virtual machines, by Firecracker where it is installed and
//! the processor supports it, else by QEMU. The first of a shape is booted and kept as a template;
//! all others are copies of it, ready in a tenth of a second even without KVM.
//!
//! | file | |
//! |---|---|
//! | `vmm.rs` | what QEMU and Firecracker have in common |
//! | `qemu.rs`, `qmp.rs` | QEMU and its protocol |
//! | `firecracker.rs`, `api.rs`, `vsock.rs` | Firecracker, its API, and the connection to the agent |
//! | `kvm.rs` | hardware virtualization |
//! | `monitor_jail.rs` | starting a monitor in its jail |
//! | `template.rs` | a saved machine that others are copies of |
//! | `initramfs.rs` | the guest's files |
//! | `memfd.rs` | files in memory |
//!
//! A guest has no network: connections to the proxy go over the agent's stream. A guest that takes
//! its monitor over is in a jail like that of `process` sandboxes, and a stricter one. A monitor
//! ends with its spawner, and that with the server, however it ends.

mod api;
mod firecracker;
mod initramfs;
mod kvm;
mod memfd;
mod monitor_jail;
mod qemu;
mod qmp;
mod template;
mod vmm;
mod vsock;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;

use self::firecracker::Firecracker;
use self::kvm::Kvm;
use self::monitor_jail::MonitorJails;
use self::qemu::Qemu;
use self::template::{GuestParts, Template};
use self::vmm::{Hardware, MONITOR_TIMEOUT, Vmm};
use super::blocking::{asynchronous, blocking};
use super::process::SpawnerCommand;
use super::process::instance::ProcessInstance;
use crate::driver::{
    About, BootError, BootSpec, Booted, BoxFuture, DestroyError, Driver, DriverName, Instance, NetworkReach, Probe,
    ProbeNote, RootImage, Unavailable, Usage,
};

pub const NAME: DriverName = DriverName("microvm");

/// With less, Debian's kernel does not boot.
const MIN_MEGABYTES: u64 = 256;

type Templates = HashMap<(RootImage, Hardware), Arc<OnceCell<Template>>>;

/// The monitor program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monitor {
    Qemu,
    Firecracker,
}

pub struct MicroVm {
    vmm: Arc<dyn Vmm>,
    /// Why it is not Firecracker, if it is not.
    instead: Option<String>,
    jails: Arc<MonitorJails>,
    parts: GuestParts,
    /// Root file system of guests without an image of their own.
    root: PathBuf,
    templates: Mutex<Templates>,
}

impl MicroVm {
    /// `files` is the folder `microvm` that `tools/drivers` made. Firecracker where it is there and
    /// the processor supports it, else QEMU.
    pub fn new(spawner: SpawnerCommand, files: &Path) -> Self {
        let kvm = Kvm::here();
        let jails = Arc::new(MonitorJails::new(spawner));
        let folder = files.join("firecracker");
        match (Firecracker::find(&folder, MONITOR_TIMEOUT, jails.clone()), kvm.usable()) {
            (Some(firecracker), Ok(())) => Self::with_vmm(Arc::new(firecracker), None, jails, files),
            (Some(_), Err(why)) => Self::qemu(jails, files, why.to_owned()),
            (None, Ok(())) => Self::qemu(jails, files, Firecracker::missing(&folder)),
            (None, Err(why)) => {
                let missing = Firecracker::missing(&folder);
                Self::qemu(jails, files, format!("{why}; {missing}"))
            }
        }
    }

    /// The same with that monitor, whatever the processor supports. `timeout` is for each of its
    /// answers.
    pub fn with(spawner: SpawnerCommand, files: &Path, monitor: Monitor, timeout: Duration) -> Option<Self> {
        let jails = Arc::new(MonitorJails::new(spawner));
        match monitor {
            Monitor::Qemu => Some(Self::qemu(jails, files, "QEMU was asked for".to_owned())),
            Monitor::Firecracker => {
                let firecracker = Firecracker::find(&files.join("firecracker"), timeout, jails.clone())?;
                Some(Self::with_vmm(Arc::new(firecracker), None, jails, files))
            }
        }
    }

    fn qemu(jails: Arc<MonitorJails>, files: &Path, why: String) -> Self {
        let qemu = Qemu::find(&files.join("qemu"), jails.clone());
        Self::with_vmm(Arc::new(qemu), Some(why), jails, files)
    }

    fn with_vmm(vmm: Arc<dyn Vmm>, instead: Option<String>, jails: Arc<MonitorJails>, files: &Path) -> Self {
        let parts = GuestParts { kernel: files.join("vmlinux"), modules: files.to_owned() };
        Self { vmm, instead, jails, parts, root: files.join("root"), templates: Mutex::default() }
    }

    async fn start(&self, spec: &BootSpec) -> Result<Booted, BootError> {
        let megabytes = spec.shape.memory.bytes().div_ceil(1 << 20).max(MIN_MEGABYTES);
        let hardware = Hardware { megabytes, cpus: spec.shape.cpus };
        let template = self.lock().entry((spec.image.clone(), hardware)).or_default().clone();
        let root = match &spec.image {
            RootImage::Host => self.root.clone(),
            RootImage::Folder(folder) => folder.clone(),
        };
        let (vmm, parts, cid) = (self.vmm.clone(), self.parts.clone(), spec.cid);
        let make = async || blocking(move || Template::make(&*vmm, &parts, &root, hardware, cid)).await;
        // One is made, however many callers want it at once; an error goes to the caller that
        // tried.
        template.get_or_try_init(make).await?;
        let vmm = self.vmm.clone();
        let copy = move || template.get().expect("made above").copy(&*vmm);
        let (process, agent) = blocking(copy).await?;
        let failed =
            |error: std::io::Error| BootError { reason: format!("the machine's process cannot be watched: {error}") };
        let guest = GuestInstance(process.into_instance().map_err(failed)?);
        Ok(Booted { instance: Box::new(guest), agent: Box::new(asynchronous(agent)?), uplink: None })
    }

    fn inspect(&self) -> Result<Probe, String> {
        let mut found = self.vmm.probe()?;
        let modules = initramfs::modules(self.vmm.port()).iter().map(|module| self.parts.modules.join(module));
        for file in [self.parts.kernel.clone(), self.root.clone()].into_iter().chain(modules) {
            if !file.exists() {
                let folder = self.root.parent().and_then(Path::parent).unwrap_or(Path::new("FOLDER"));
                return Err(format!("{} is missing: `tools/drivers {}` makes it", file.display(), folder.display()));
            }
        }
        let host_features = self.jails.host_features().map_err(|error| error.to_string())?;
        if let Some(reason) = host_features.without_limits {
            found.notes.push(ProbeNote::new(About::Limits, format!("limits are missing: {reason}")));
        }
        let instead = self.instead.as_ref().map(|why| format!("; not Firecracker: {why}")).unwrap_or_default();
        found.summary = format!("{}, in a jail; a kernel of its own for each sandbox{instead}", found.summary);
        Ok(found)
    }

    fn lock(&self) -> MutexGuard<'_, Templates> {
        // Nothing that can panic runs under this lock.
        self.templates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Driver for MicroVm {
    fn name(&self) -> DriverName {
        NAME
    }

    fn reach(&self) -> NetworkReach {
        NetworkReach::Listed
    }

    fn probe(&self) -> BoxFuture<'_, Result<Probe, Unavailable>> {
        Box::pin(async { self.inspect().map_err(|reason| Unavailable { driver: NAME, reason }) })
    }

    fn boot<'a>(&'a self, spec: &'a BootSpec) -> BoxFuture<'a, Result<Booted, BootError>> {
        Box::pin(self.start(spec))
    }

    fn sweep(&self) -> BoxFuture<'_, usize> {
        Box::pin(async { self.jails.sweep() })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        let jails = self.jails.clone();
        self.lock().clear();
        // It ends at once, but is waited for.
        Box::pin(async move { drop(tokio::task::spawn_blocking(move || jails.end()).await) })
    }
}

/// A running machine. It is one process on the host; the processes inside are not visible.
struct GuestInstance(ProcessInstance);

impl Instance for GuestInstance {
    fn is_alive(&self) -> bool {
        self.0.is_alive()
    }

    fn usage(&self) -> Usage {
        Usage { processes: None, ..self.0.usage() }
    }

    fn destroy(&self) -> BoxFuture<'_, Result<(), DestroyError>> {
        self.0.destroy()
    }
}
