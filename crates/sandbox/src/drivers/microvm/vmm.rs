//! What runs virtual machines: QEMU or Firecracker. Both start one from a kernel, stop it, keep all that it was, and start
//! others from what was kept. Everything here blocks, with deadlines: for threads that may wait.
//!
//! States of a machine: `booted or restored -> paused -> saved`; a restored one is used and killed instead.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::api::ApiError;
use super::enclosure::{Enclosed, EnclosureError};
use super::qmp::QmpError;
use super::vsock::VsockError;
use crate::driver::Probe;

/// A monitor answers at once, but it may have to share the machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hardware {
    pub(super) megabytes: u64,
    pub(super) cpus: u16,
}

/// What a guest is booted from.
pub(super) struct Guest {
    pub(super) kernel: File,
    pub(super) initramfs: File,
    /// Which no other machine has (vsock).
    pub(super) cid: u32,
}

/// All that a machine was when it was paused. Sealed: those that begin with it write to copies.
pub(super) struct Snapshot {
    pub(super) memory: File,
    pub(super) state: File,
}

/// Where the agent is found inside a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Port {
    /// A port of a serial device, which is open over a snapshot.
    Serial,
    /// A socket that it listens on; connections end with a snapshot.
    Vsock,
}

pub(super) trait Vmm: Send + Sync {
    fn port(&self) -> Port;

    /// Whether it can run here, and if not, why and what would help.
    fn probe(&self) -> Result<Probe, String>;

    /// Configures one and starts it.
    fn boot(&self, hardware: Hardware, guest: &Guest) -> Result<Box<dyn Machine>, VmmError>;

    /// Starts a copy of one that was saved.
    fn restore(&self, hardware: Hardware, snapshot: &Snapshot) -> Result<Box<dyn Machine>, VmmError>;
}

/// A machine. Dropping it kills it.
pub(super) trait Machine: Send {
    /// The stream to the agent. For who boots it, the agent may be far from ready.
    fn agent(&mut self) -> Result<UnixStream, VmmError>;

    fn pause(&mut self) -> Result<(), VmmError>;

    /// Ends it, paused as it is, and keeps what it was.
    fn save(self: Box<Self>) -> Result<Snapshot, VmmError>;

    /// The process, for who sees to its end.
    fn into_process(self: Box<Self>) -> Enclosed;
}

#[derive(Debug, thiserror::Error)]
pub(super) enum VmmError {
    #[error(transparent)]
    Start(#[from] EnclosureError),
    #[error("no files or sockets for the machine: {0}")]
    Io(#[from] io::Error),
    #[error("{error}{words}")]
    Qmp { error: QmpError, words: String },
    #[error("{error}{words}")]
    Api { error: ApiError, words: String },
    #[error("{error}{words}")]
    Vsock { error: VsockError, words: String },
}
