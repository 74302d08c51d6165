//! The trait of drivers. A driver starts something isolated with Hearth's agent in it, and returns
//! the byte stream to that agent; everything after that goes over the stream and is the same for
//! every driver.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hearth_core::ByteSize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use crate::config::ImageName;
use crate::error::SandboxError;
use crate::id::SandboxId;
use crate::network::NetworkShape;
use crate::upgrade::UpgradePayload;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A stream in both directions.
pub trait BidiStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> BidiStream for T {}

pub trait Driver: Send + Sync + 'static {
    fn name(&self) -> DriverName;

    /// The networks that its sandboxes can have.
    fn reach(&self) -> NetworkReach {
        NetworkReach::All
    }

    /// Whether it can run here, and if not, exactly why and what would help.
    fn probe(&self) -> BoxFuture<'_, Result<Probe, Unavailable>>;

    /// Boots one. Resolves when its agent can be reached. Dropping the future leaves nothing
    /// behind.
    fn boot<'a>(&'a self, spec: &'a BootSpec) -> BoxFuture<'a, Result<Booted, BootError>>;

    /// Removes what a server that died left behind, and returns the number of its sandboxes. Called
    /// once, before the first boot.
    fn sweep(&self) -> BoxFuture<'_, usize>;

    /// Continues a sandbox that [`Instance::export`] gave in the previous program. The agent's
    /// stream is where it was. On the current runtime.
    fn import(&self, _id: SandboxId, _payload: UpgradePayload) -> Result<Booted, BootError> {
        Err(BootError { reason: format!("{} sandboxes cannot be imported", self.name()) })
    }

    /// Ends the driver's own processes and files. Called once, after the last sandbox was
    /// destroyed.
    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

/// The driver's side of a sandbox. Dropping it without [`destroy`](Self::destroy) kills it, too,
/// without waiting.
pub trait Instance: Send + Sync + 'static {
    /// Whether it still runs, as far as is known without a system call. A few loads; must not
    /// block.
    fn is_alive(&self) -> bool;

    /// Current usage; what cannot be measured is `None`.
    fn usage(&self) -> Usage;

    /// Disk space for its files, where the driver knows it. Elsewhere files are in memory, half of
    /// it at most.
    fn disk(&self) -> Option<ByteSize> {
        None
    }

    /// Processes that the kernel killed for lack of memory; `None` where that is not counted.
    fn killed_for_memory(&self) -> Option<u64> {
        None
    }

    /// Kills everything in it and removes all traces. Resolves when nothing is left. Called once.
    fn destroy(&self) -> BoxFuture<'_, Result<(), DestroyError>>;

    /// What the next program needs to go on with it; from then on dropping this does not kill it.
    /// `None` where it cannot outlive this program.
    fn export(&self) -> Option<UpgradePayload> {
        None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkReach {
    /// Listed hosts only, through the agent: there is no other way out.
    Listed,
    /// Also listed hosts through an uplink of the driver's own, and the host's network.
    All,
}

/// Name of a driver: `process`, `gvisor`, `microvm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DriverName(pub &'static str);

/// What two interchangeable sandboxes have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shape {
    pub driver: DriverName,
    pub image: ImageName,
    pub memory: ByteSize,
    pub disk: ByteSize,
    pub cpus: u16,
    pub network: NetworkShape,
}

#[derive(Clone, Debug)]
pub struct BootSpec {
    pub id: SandboxId,
    pub shape: Shape,
    pub image: RootImage,
    /// A vsock context id, for drivers that need one.
    pub cid: u32,
}

/// Where an image's files are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RootImage {
    /// The machine's own.
    Host,
    /// A folder with a root file system.
    Folder(PathBuf),
}

pub struct Booted {
    pub instance: Box<dyn Instance>,
    /// The stream to the agent.
    pub agent: Box<dyn BidiStream>,
    /// The sandbox's uplink, where the driver has one; elsewhere the agent provides a tunnel.
    pub uplink: Option<Uplink>,
}

/// Connections of the sandbox's programs to the proxy.
pub struct Uplink {
    /// The proxy's address as seen from inside, for `HTTP_PROXY`.
    pub inside: SocketAddr,
    pub connections: mpsc::Receiver<Box<dyn BidiStream>>,
    /// The listener itself, for an upgrade; closed with the uplink.
    pub listener: Option<OwnedFd>,
}

/// Result of a driver's probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// One line: what isolates, and what of it is missing here.
    pub summary: String,
    /// Limitations, with reasons.
    pub notes: Vec<ProbeNote>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeNote {
    pub about: About,
    pub text: String,
}

/// What a limitation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The limits of a sandbox as a whole: memory, processes, processors.
    Limits,
    /// Isolation.
    Wall,
    /// Speed, or the size of its disk.
    Comfort,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub memory: Option<ByteSize>,
    pub processes: Option<u32>,
    pub cpu: Option<Duration>,
}

/// Why a driver cannot run here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{driver} sandboxes cannot run here: {reason}")]
pub struct Unavailable {
    pub driver: DriverName,
    pub reason: String,
}

#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct BootError {
    pub reason: String,
}

#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct DestroyError {
    pub reason: String,
}

/// The available drivers; the first is the default.
#[derive(Clone)]
pub struct Drivers {
    all: Arc<[Arc<dyn Driver>]>,
}

// === impl ProbeNote ===

impl ProbeNote {
    pub fn new(about: About, text: impl Into<String>) -> Self {
        Self { about, text: text.into() }
    }
}

// === impl DriverName ===

impl fmt::Display for DriverName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

// === impl Drivers ===

impl Drivers {
    /// At least one.
    pub fn new(first: Arc<dyn Driver>, others: impl IntoIterator<Item = Arc<dyn Driver>>) -> Self {
        Self { all: [first].into_iter().chain(others).collect() }
    }

    pub fn first(&self) -> &Arc<dyn Driver> {
        &self.all[0]
    }

    pub fn all(&self) -> &[Arc<dyn Driver>] {
        &self.all
    }

    pub fn names(&self) -> Vec<DriverName> {
        self.all.iter().map(|driver| driver.name()).collect()
    }

    /// The driver with this name.
    pub fn named(&self, name: &str) -> Result<&Arc<dyn Driver>, SandboxError> {
        self.all.iter().find(|driver| driver.name().0 == name).ok_or_else(|| {
            let known: Vec<_> = self.all.iter().map(|driver| driver.name().0).collect();
            SandboxError::invalid("driver", format!("{name:?} is not one of {}", known.join(", ")))
        })
    }
}

impl fmt::Debug for Drivers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
