//! A machine that was started once, brought to where its interpreters wait for work, and kept as it was then. Every sandbox
//! of its shape begins as a copy: memory is shared until it is written to.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::greeting::{Greeting, GreetingError};
use super::initramfs;
use super::qemu::{Accelerator, Beginning, Hardware, Machine, Qemu, StartError};
use super::qmp::QmpError;

#[derive(Debug, thiserror::Error)]
pub(super) enum TemplateError {
    #[error("the guest's files cannot be put together: {0}")]
    Files(#[from] io::Error),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the guest did not come up: {0}")]
    Guest(#[from] GreetingError),
    #[error(transparent)]
    Save(#[from] QmpError),
}

/// Where what machines are made of lies.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) qemu: Qemu,
    pub(super) kernel: PathBuf,
    pub(super) module: PathBuf,
    pub(super) accelerator: Accelerator,
}

pub(super) struct Template {
    hardware: Hardware,
    memory: File,
    state: File,
}

impl Template {
    /// Starts one; takes seconds without KVM. Blocks.
    pub(super) fn make(parts: &Parts, root: &Path, hardware: Hardware) -> Result<Self, TemplateError> {
        let initramfs = nameless("initramfs")?;
        initramfs::write(&initramfs, root, &parts.module, hearth_agent_image::AGENT)?;
        let memory = nameless("memory")?;
        memory.set_len(hardware.megabytes << 20)?;
        let beginning = Beginning::Boot { kernel: &parts.kernel, initramfs: &initramfs };
        let mut machine = Machine::start(&parts.qemu, parts.accelerator, hardware, &memory, &beginning)?;
        let agent = machine.agent.take().expect("nobody took it yet");
        let (mut greeting, languages) = Greeting::begin(&agent)?;
        greeting.warm(languages)?;
        let state = nameless("state")?;
        machine.save(&state)?;
        Ok(Self { hardware, memory, state })
    }

    /// Another machine like it. Blocks, for a tenth of a second or so without KVM.
    pub(super) fn copy(&self, parts: &Parts) -> Result<Machine, TemplateError> {
        let beginning = Beginning::Snapshot { state: &self.state };
        let machine = Machine::start(&parts.qemu, parts.accelerator, self.hardware, &self.memory, &beginning)?;
        let agent = machine.agent.as_ref().expect("nobody took it yet");
        let (mut greeting, _) = Greeting::begin(agent)?;
        greeting.wake()?;
        Ok(machine)
    }
}

/// A file in memory that is gone when nobody has it open.
fn nameless(name: &str) -> io::Result<File> {
    Ok(rustix::fs::memfd_create(format!("hearth-{name}"), rustix::fs::MemfdFlags::CLOEXEC)?.into())
}
