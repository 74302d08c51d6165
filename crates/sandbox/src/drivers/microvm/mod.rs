//! Sandboxes with a kernel of their own: virtual machines by QEMU. The first of a shape is booted and kept as a template; all
//! that follow are copies of it, there in a tenth of a second even without KVM.
//!
//! | file | |
//! |---|---|
//! | `template.rs` | a machine that others are copies of |
//! | `qemu.rs` | one machine, as a process |
//! | `qmp.rs` | what is said to QEMU |
//! | `greeting.rs` | what is said to the agent, before anybody else does |
//! | `initramfs.rs` | the guest's files |
//!
//! A guest has no network. Its end is the end of QEMU: when the agent's socket closes, because the server is gone by whatever
//! means, the agent ends, and with it the guest.

mod greeting;
mod initramfs;
mod qemu;
mod qmp;
mod template;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_core::ByteSize;
use tokio::sync::OnceCell;

use self::qemu::{Accelerator, Hardware, Qemu};
use self::template::{Parts, Template, TemplateError};
use super::blocking::{asynchronous, blocking};
use crate::driver::{
    BootError, BootSpec, Booted, BoxFuture, DestroyError, Driver, DriverName, Image, Instance, Probe, Reach,
    Unavailable, Usage,
};

pub const NAME: DriverName = DriverName("microvm");

/// With less, Debian's kernel does not come up.
const LEAST_MEGABYTES: u64 = 256;
/// What is older damages the memory of guests that it emulates.
const OLDEST_EMULATION: u32 = 9;

type Templates = HashMap<(Image, Hardware), Arc<OnceCell<Template>>>;

pub struct MicroVm {
    parts: Parts,
    /// What a guest has that is made of no other image.
    root: PathBuf,
    templates: Mutex<Templates>,
}

impl MicroVm {
    /// `files` is the folder `microvm` that `tools/drivers` made.
    pub fn new(files: &Path) -> Self {
        let parts = Parts {
            qemu: Qemu::find(&files.join("qemu")),
            kernel: files.join("vmlinux"),
            module: files.join("virtio_mmio.ko"),
            accelerator: Accelerator::here(),
        };
        Self { parts, root: files.join("root"), templates: Mutex::default() }
    }

    async fn start(&self, spec: &BootSpec) -> Result<Booted, BootError> {
        let megabytes = spec.shape.memory.bytes().div_ceil(1 << 20).max(LEAST_MEGABYTES);
        let hardware = Hardware { megabytes, cpus: spec.shape.cpus };
        let template = self.lock().entry((spec.image.clone(), hardware)).or_default().clone();
        let root = match &spec.image {
            Image::Host => self.root.clone(),
            Image::Folder(folder) => folder.clone(),
        };
        let parts = self.parts.clone();
        // One is made, however many ask for it at once; a failure is for the one who tried.
        template.get_or_try_init(async || blocking(move || Template::make(&parts, &root, hardware)).await).await?;
        let parts = self.parts.clone();
        let (child, agent) = blocking(move || {
            let mut machine = template.get().expect("made above").copy(&parts)?;
            let agent = machine.agent.take().expect("nobody took it yet");
            Ok::<_, TemplateError>((Guest::new(machine.into_child()), agent))
        })
        .await?;
        Ok(Booted { instance: Box::new(child), agent: Box::new(asynchronous(agent)?), uplink: None })
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
        Reach::Nothing
    }

    fn probe(&self) -> BoxFuture<'_, Result<Probe, Unavailable>> {
        Box::pin(async {
            let no = |reason: String| Err(Unavailable { driver: NAME, reason });
            let Some(version) = self.parts.qemu.version() else {
                let program = self.parts.qemu.program.display();
                return no(format!("{program} cannot be started: install Debian's package qemu-system-x86"));
            };
            if self.parts.accelerator == Accelerator::Emulation && version < OLDEST_EMULATION {
                let reason = format!(
                    "QEMU {version} damages the memory of guests that it emulates: it must be \
                    {OLDEST_EMULATION} or newer (`tools/drivers` gets one), or the machine have KVM"
                );
                return no(reason);
            }
            for file in [&self.parts.kernel, &self.parts.module, &self.root] {
                if !file.exists() {
                    let folder = self.root.parent().and_then(Path::parent).unwrap_or(Path::new("FOLDER"));
                    let reason =
                        format!("{} is missing: `tools/drivers {}` makes it", file.display(), folder.display());
                    return no(reason);
                }
            }
            let (how, notes) = match self.parts.accelerator {
                Accelerator::Kvm => ("KVM", Vec::new()),
                Accelerator::Emulation => {
                    let slow = "the processor offers no virtualization (no vmx or svm, or no right to /dev/kvm): guests are \
                        emulated, several times slower, and QEMU's emulation is no boundary that its makers vouch for";
                    ("emulation", vec![slow.to_owned()])
                }
            };
            Ok(Probe { summary: format!("QEMU {version} with {how}; a kernel of its own for each sandbox"), notes })
        })
    }

    fn boot<'a>(&'a self, spec: &'a BootSpec) -> BoxFuture<'a, Result<Booted, BootError>> {
        Box::pin(self.start(spec))
    }

    fn sweep(&self) -> BoxFuture<'_, usize> {
        Box::pin(async { tokio::task::spawn_blocking(sweep).await.unwrap_or_default() })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.lock().clear() })
    }
}

/// A machine that runs.
struct Guest {
    child: Mutex<Option<Child>>,
    pid: u32,
}

impl Guest {
    fn new(child: Child) -> Self {
        Self { pid: child.id(), child: Mutex::new(Some(child)) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Child>> {
        // Nothing that can panic runs under this lock.
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Instance for Guest {
    fn is_alive(&self) -> bool {
        self.lock().as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    fn usage(&self) -> Usage {
        let pages = fs::read_to_string(format!("/proc/{}/statm", self.pid)).ok();
        let resident = pages.and_then(|text| text.split_whitespace().nth(1)?.parse::<u64>().ok());
        Usage { memory: resident.map(|pages| ByteSize::kb(pages * 4)), ..Usage::default() }
    }

    fn destroy(&self) -> BoxFuture<'_, Result<(), DestroyError>> {
        let child = self.lock().take();
        Box::pin(async move {
            let Some(mut child) = child else { return Ok(()) };
            let ended = tokio::task::spawn_blocking(move || child.kill().and_then(|()| child.wait())).await;
            match ended {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(DestroyError { reason: format!("QEMU cannot be ended: {error}") }),
                Err(error) => Err(DestroyError { reason: error.to_string() }),
            }
        })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if let Some(mut child) = self.lock().take() {
            // It may have ended already; who is killed is gone soon, and must be waited for, by somebody.
            let _ = child.kill();
            std::thread::spawn(move || child.wait());
        }
    }
}

/// Ends machines whose server is gone.
fn sweep() -> usize {
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    let mut swept = 0;
    for process in processes.flatten() {
        let path = process.path();
        let Ok(pid) = process.file_name().to_string_lossy().parse::<i32>() else { continue };
        let command = fs::read(path.join("cmdline")).unwrap_or_default();
        let is_ours = command.split(|byte| *byte == 0).any(|argument| argument == qemu::MARK.as_bytes());
        let parent = fs::read_to_string(path.join("stat")).ok().and_then(|stat| parent_of(&stat));
        // An orphan has been adopted by the first process, or by one that takes in orphans and is no Hearth.
        let orphan = parent.is_some_and(|parent| !is_hearth(parent));
        if is_ours && orphan && rustix::process::Pid::from_raw(pid).is_some_and(kill) {
            swept += 1;
        }
    }
    swept
}

fn kill(pid: rustix::process::Pid) -> bool {
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok()
}

fn is_hearth(pid: u32) -> bool {
    let (theirs, ours) = (fs::read_link(format!("/proc/{pid}/exe")), fs::read_link("/proc/self/exe"));
    matches!((theirs, ours), (Ok(theirs), Ok(ours)) if theirs.file_name() == ours.file_name())
}

/// The fourth field; the second is a name in parentheses that can hold anything.
fn parent_of(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_found_behind_any_name() {
        assert_eq!(parent_of("12 (a) b) (c) S 7 12 12 0"), Some(7));
        assert_eq!(parent_of("12 (a"), None);
    }
}
