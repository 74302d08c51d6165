//! The interface of virtual machine monitors: QEMU or Firecracker. Both start a machine from a
//! kernel, stop it, save its state, and restore copies of it. Everything here blocks, with
//! deadlines: for threads that may wait.
//!
//! States of a machine: `booted or restored -> paused -> saved`; a restored one is used and killed instead.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::api::ApiError;
use super::monitor_jail::{JailedMonitor, MonitorJailError};
use super::qmp::QmpError;
use super::vsock::VsockError;
use crate::driver::Probe;

/// A monitor answers at once, but it may have to share the machine.
pub(super) const MONITOR_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hardware {
    pub(super) megabytes: u64,
    pub(super) cpus: u16,
}

/// What a guest boots from.
pub(super) struct Guest {
    pub(super) kernel: File,
    pub(super) initramfs: File,
    /// Vsock context id.
    pub(super) cid: u32,
}

/// The state of a paused machine. Sealed: machines that start from it write to copies.
pub(super) struct Snapshot {
    pub(super) memory: File,
    pub(super) state: File,
}

/// How the agent inside a guest is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Port {
    /// A port of a serial device, which stays open over a snapshot.
    Serial,
    /// A vsock port that it listens on; connections end with a snapshot.
    Vsock,
}

pub(super) trait Vmm: Send + Sync {
    fn port(&self) -> Port;

    /// Whether it can run here, and if not, why and what would help.
    fn probe(&self) -> Result<Probe, String>;

    /// Configures a machine and starts it.
    fn boot(&self, hardware: Hardware, guest: &Guest) -> Result<Box<dyn Machine>, VmmError>;

    /// Starts a copy of a saved machine.
    fn restore(&self, hardware: Hardware, snapshot: &Snapshot) -> Result<Box<dyn Machine>, VmmError>;
}

/// A machine. Dropping it kills it.
pub(super) trait Machine: Send {
    /// The stream to the agent. On a booting machine the agent may be far from ready.
    fn agent(&mut self) -> Result<UnixStream, VmmError>;

    fn pause(&mut self) -> Result<(), VmmError>;

    /// Ends the paused machine, and returns its state.
    fn save(self: Box<Self>) -> Result<Snapshot, VmmError>;

    /// The process, for the instance that watches it.
    fn into_process(self: Box<Self>) -> JailedMonitor;
}

#[derive(Debug, thiserror::Error)]
pub(super) enum VmmError {
    #[error(transparent)]
    Start(#[from] MonitorJailError),
    #[error("no files or sockets for the machine: {0}")]
    Io(#[from] io::Error),
    #[error("{error}{words}")]
    Qmp { error: QmpError, words: String },
    #[error("{error}{words}")]
    Api { error: ApiError, words: String },
    #[error("{error}{words}")]
    Vsock { error: VsockError, words: String },
}
