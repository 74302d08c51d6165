//! Sandboxes with a kernel of their own: virtual machines, by Firecracker where it is and the processor can, by QEMU else. The
//! first of a shape is booted and kept as a template; all that follow are copies of it, there in a tenth of a second even
//! without KVM.
//!
//! | file | |
//! |---|---|
//! | `vmm.rs` | what runs machines: what QEMU and Firecracker have in common |
//! | `qemu.rs`, `qmp.rs` | QEMU, and what is said to it |
//! | `firecracker.rs`, `api.rs`, `vsock.rs` | Firecracker, what is said to it, and the way to the agent |
//! | `kvm.rs` | what the processor does for machines |
//! | `enclosure.rs` | the walls around a monitor |
//! | `template.rs` | a machine that others are copies of |
//! | `initramfs.rs` | the guest's files |
//! | `file.rs` | files without a name |
//!
//! A guest has no network: what leads out goes over the agent's connection. A guest that takes its monitor over finds itself between walls like those of `process` sandboxes, and
//! stricter. A monitor ends with its spawner, and that with the server, by whatever means.

mod api;
mod enclosure;
mod file;
mod firecracker;
mod initramfs;
mod kvm;
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

use self::enclosure::Enclosures;
use self::firecracker::Firecracker;
use self::kvm::Kvm;
use self::qemu::Qemu;
use self::template::{Parts, Template};
use self::vmm::{Hardware, PATIENCE, Vmm};
use super::blocking::{asynchronous, blocking};
use super::process::SpawnerCommand;
use super::process::instance::ProcessInstance;
use crate::driver::{
    About, BootError, BootSpec, Booted, BoxFuture, DestroyError, Driver, DriverName, Image, Instance, Note, Probe,
    Reach, Unavailable, Usage,
};

pub const NAME: DriverName = DriverName("microvm");

/// With less, Debian's kernel does not come up.
const LEAST_MEGABYTES: u64 = 256;

type Templates = HashMap<(Image, Hardware), Arc<OnceCell<Template>>>;

/// What runs machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monitor {
    Qemu,
    Firecracker,
}

pub struct MicroVm {
    vmm: Arc<dyn Vmm>,
    /// Why it is not Firecracker, if it is not.
    instead: Option<String>,
    enclosures: Arc<Enclosures>,
    parts: Parts,
    /// What a guest has that is made of no other image.
    root: PathBuf,
    templates: Mutex<Templates>,
}

impl MicroVm {
    /// `files` is the folder `microvm` that `tools/drivers` made. Firecracker where it is there and the processor can, else QEMU.
    pub fn new(spawner: SpawnerCommand, files: &Path) -> Self {
        let kvm = Kvm::here();
        let enclosures = Arc::new(Enclosures::new(spawner));
        let folder = files.join("firecracker");
        match (Firecracker::find(&folder, PATIENCE, enclosures.clone()), kvm.usable()) {
            (Some(firecracker), Ok(())) => Self::made(Arc::new(firecracker), None, enclosures, files),
            (Some(_), Err(why)) => Self::qemu(enclosures, files, why.to_owned()),
            (None, Ok(())) => Self::qemu(enclosures, files, Firecracker::missing(&folder)),
            (None, Err(why)) => {
                let missing = Firecracker::missing(&folder);
                Self::qemu(enclosures, files, format!("{why}; {missing}"))
            }
        }
    }

    /// The same with that monitor, whatever the processor can. `patience` is how long it may take for an answer.
    pub fn with(spawner: SpawnerCommand, files: &Path, monitor: Monitor, patience: Duration) -> Option<Self> {
        let enclosures = Arc::new(Enclosures::new(spawner));
        match monitor {
            Monitor::Qemu => Some(Self::qemu(enclosures, files, "QEMU was asked for".to_owned())),
            Monitor::Firecracker => {
                let firecracker = Firecracker::find(&files.join("firecracker"), patience, enclosures.clone())?;
                Some(Self::made(Arc::new(firecracker), None, enclosures, files))
            }
        }
    }

    fn qemu(enclosures: Arc<Enclosures>, files: &Path, why: String) -> Self {
        let qemu = Qemu::find(&files.join("qemu"), enclosures.clone());
        Self::made(Arc::new(qemu), Some(why), enclosures, files)
    }

    fn made(vmm: Arc<dyn Vmm>, instead: Option<String>, enclosures: Arc<Enclosures>, files: &Path) -> Self {
        let parts = Parts { kernel: files.join("vmlinux"), modules: files.to_owned() };
        Self { vmm, instead, enclosures, parts, root: files.join("root"), templates: Mutex::default() }
    }

    async fn start(&self, spec: &BootSpec) -> Result<Booted, BootError> {
        let megabytes = spec.shape.memory.bytes().div_ceil(1 << 20).max(LEAST_MEGABYTES);
        let hardware = Hardware { megabytes, cpus: spec.shape.cpus };
        let template = self.lock().entry((spec.image.clone(), hardware)).or_default().clone();
        let root = match &spec.image {
            Image::Host => self.root.clone(),
            Image::Folder(folder) => folder.clone(),
        };
        let (vmm, parts, cid) = (self.vmm.clone(), self.parts.clone(), spec.cid);
        let make = async || blocking(move || Template::make(&*vmm, &parts, &root, hardware, cid)).await;
        // One is made, however many ask for it at once; a failure is for the one who tried.
        template.get_or_try_init(make).await?;
        let vmm = self.vmm.clone();
        let copy = move || template.get().expect("made above").copy(&*vmm);
        let (process, agent) = blocking(copy).await?;
        let failed = |error: std::io::Error| BootError { reason: format!("the machine cannot be taken over: {error}") };
        let guest = GuestInstance(process.into_instance().map_err(failed)?);
        Ok(Booted { instance: Box::new(guest), agent: Box::new(asynchronous(agent)?), uplink: None })
    }

    fn look(&self) -> Result<Probe, String> {
        let mut found = self.vmm.probe()?;
        let modules = initramfs::modules(self.vmm.port()).iter().map(|module| self.parts.modules.join(module));
        for file in [self.parts.kernel.clone(), self.root.clone()].into_iter().chain(modules) {
            if !file.exists() {
                let folder = self.root.parent().and_then(Path::parent).unwrap_or(Path::new("FOLDER"));
                return Err(format!("{} is missing: `tools/drivers {}` makes it", file.display(), folder.display()));
            }
        }
        let facilities = self.enclosures.facilities().map_err(|error| error.to_string())?;
        if let Some(reason) = facilities.without_limits {
            found.notes.push(Note::new(About::Limits, format!("limits are missing: {reason}")));
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

    fn reach(&self) -> Reach {
        Reach::Listed
    }

    fn probe(&self) -> BoxFuture<'_, Result<Probe, Unavailable>> {
        Box::pin(async { self.look().map_err(|reason| Unavailable { driver: NAME, reason }) })
    }

    fn boot<'a>(&'a self, spec: &'a BootSpec) -> BoxFuture<'a, Result<Booted, BootError>> {
        Box::pin(self.start(spec))
    }

    fn sweep(&self) -> BoxFuture<'_, usize> {
        Box::pin(async { self.enclosures.sweep() })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        let enclosures = self.enclosures.clone();
        self.lock().clear();
        // It ends at once, but it is waited for.
        Box::pin(async move { drop(tokio::task::spawn_blocking(move || enclosures.end()).await) })
    }
}

/// A machine that runs. What it is made of is one process; of those inside nothing is known out here.
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
