//! A machine that was started once, brought to where its interpreters wait for work, and kept as it was then. Every sandbox
//! of its shape begins as a copy: memory is shared until it is written to.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::enclosure::Enclosed;
use super::file::{self, nameless, seal};
use super::initramfs::{self, Programs, Way};
use super::vmm::{Guest, Hardware, Snapshot, Vmm, VmmError};
use crate::drivers::greeting::{Greeting, GreetingError};

#[derive(Debug, thiserror::Error)]
pub(super) enum TemplateError {
    #[error("the guest's files cannot be put together: {0}")]
    Files(#[from] io::Error),
    #[error(transparent)]
    Machine(#[from] VmmError),
    #[error("the guest did not come up: {0}")]
    Guest(#[from] GreetingError),
}

/// Where what guests are made of lies.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) kernel: PathBuf,
    /// The folder of the kernel's modules.
    pub(super) modules: PathBuf,
}

pub(super) struct Template {
    hardware: Hardware,
    snapshot: Snapshot,
}

impl Template {
    /// Starts one; takes seconds without KVM. Blocks.
    pub(super) fn make(
        vmm: &dyn Vmm,
        parts: &Parts,
        root: &Path,
        hardware: Hardware,
        cid: u32,
    ) -> Result<Self, TemplateError> {
        let initramfs = nameless("initramfs")?;
        let programs = Programs { agent: hearth_agent_image::AGENT, typescript: hearth_agent_image::TYPESCRIPT };
        initramfs::write(&initramfs, root, Way { port: vmm.port(), modules: &parts.modules }, programs)?;
        seal(&initramfs)?;
        let guest = Guest { kernel: file::copy(&parts.kernel, "kernel")?, initramfs, cid };
        let mut machine = vmm.boot(hardware, &guest)?;
        let agent = machine.agent()?;
        let (mut greeting, languages) = Greeting::begin(&agent)?;
        greeting.warm(languages)?;
        machine.pause()?;
        Ok(Self { hardware, snapshot: machine.save()? })
    }

    /// Another machine like it, and the stream to its agent. Blocks, for a tenth of a second or so without KVM.
    pub(super) fn copy(&self, vmm: &dyn Vmm) -> Result<(Enclosed, UnixStream), TemplateError> {
        let mut machine = vmm.restore(self.hardware, &self.snapshot)?;
        let agent = machine.agent()?;
        let (mut greeting, _) = Greeting::begin(&agent)?;
        greeting.wake()?;
        Ok((machine.into_process(), agent))
    }
}
