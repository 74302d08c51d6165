//! A machine that was started once, until its interpreters wait for work, and saved. Every sandbox
//! of its shape starts as a copy: memory is shared until it is written to.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use super::initramfs::{self, AgentAccess, Programs};
use super::memfd::{self, create, seal};
use super::monitor_jail::JailedMonitor;
use super::vmm::{Guest, Hardware, Snapshot, Vmm, VmmError};
use crate::drivers::handshake::{AgentHandshake, HandshakeError};

#[derive(Debug, thiserror::Error)]
pub(super) enum TemplateError {
    #[error("the guest's files cannot be put together: {0}")]
    Files(#[from] io::Error),
    #[error(transparent)]
    Machine(#[from] VmmError),
    #[error("the guest did not come up: {0}")]
    Guest(#[from] HandshakeError),
}

/// Files that guests are made of.
#[derive(Clone, Debug)]
pub(super) struct GuestParts {
    pub(super) kernel: PathBuf,
    /// The folder of the kernel's modules.
    pub(super) modules: PathBuf,
}

pub(super) struct Template {
    hardware: Hardware,
    snapshot: Snapshot,
}

impl Template {
    /// Boots and saves a machine; takes seconds without KVM. Blocks.
    pub(super) fn make(
        vmm: &dyn Vmm,
        parts: &GuestParts,
        root: &Path,
        hardware: Hardware,
        cid: u32,
    ) -> Result<Self, TemplateError> {
        let initramfs = create("initramfs")?;
        let programs = Programs {
            agent: hearth_sandbox_guest_binaries::AGENT,
            typescript: hearth_sandbox_guest_binaries::TYPESCRIPT,
        };
        initramfs::write(&initramfs, root, AgentAccess { port: vmm.port(), modules: &parts.modules }, programs)?;
        seal(&initramfs)?;
        let guest = Guest { kernel: memfd::copy(&parts.kernel, "kernel")?, initramfs, cid };
        let mut machine = vmm.boot(hardware, &guest)?;
        let agent = machine.agent()?;
        let (mut handshake, languages) = AgentHandshake::begin(&agent)?;
        handshake.warm(languages)?;
        machine.pause()?;
        Ok(Self { hardware, snapshot: machine.save()? })
    }

    /// A copy, and the stream to its agent. Blocks, for a tenth of a second or so without KVM.
    pub(super) fn copy(&self, vmm: &dyn Vmm) -> Result<(JailedMonitor, UnixStream), TemplateError> {
        let mut machine = vmm.restore(self.hardware, &self.snapshot)?;
        let agent = machine.agent()?;
        let (mut handshake, _) = AgentHandshake::begin(&agent)?;
        handshake.wake()?;
        Ok((machine.into_process(), agent))
    }
}
