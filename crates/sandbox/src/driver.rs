//! How sandboxes come to be. A driver starts something isolated with Hearth's agent in it, and hands over the byte stream to
//! that agent; all that comes after goes over the stream and is the same for every driver.

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
use crate::heritage::Bequest;
use crate::id::SandboxId;
use crate::network::NetworkShape;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A stream in both directions.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> ByteStream for T {}

pub trait Driver: Send + Sync + 'static {
    fn name(&self) -> DriverName;

    /// What of a network its sandboxes can have.
    fn reach(&self) -> Reach {
        Reach::All
    }

    /// Whether it can run here, and if not, exactly why and what would help.
    fn probe(&self) -> BoxFuture<'_, Result<Probe, Unavailable>>;

    /// Starts one. Resolves when its agent can be spoken to. A future that is dropped leaves nothing behind.
    fn boot<'a>(&'a self, spec: &'a BootSpec) -> BoxFuture<'a, Result<Booted, BootError>>;

    /// Removes what a server that died left behind. Called once, before the first boot; says how many sandboxes' remains.
    fn sweep(&self) -> BoxFuture<'_, usize>;

    /// Goes on with what [`Instance::leave`] gave in the program before. The agent's stream is where it was. On the current
    /// runtime.
    fn adopt(&self, _id: SandboxId, _left: Bequest) -> Result<Booted, BootError> {
        Err(BootError { reason: format!("{} sandboxes cannot be taken over", self.name()) })
    }

    /// Ends what the driver keeps for itself. Called once, after the last sandbox was destroyed.
    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

/// A sandbox as its driver has it. Dropping it without [`destroy`](Self::destroy) kills it, too, without waiting.
pub trait Instance: Send + Sync + 'static {
    /// Whether it still runs, as far as can be said without asking anybody. A few loads; must not block.
    fn is_alive(&self) -> bool;

    /// What it uses now; what cannot be measured is `None`.
    fn usage(&self) -> Usage;

    /// What there is for its files, where the driver knows; elsewhere it is in its memory, half of that at most.
    fn disk(&self) -> Option<ByteSize> {
        None
    }

    /// How many of its processes the kernel has ended for want of memory; `None` where nobody counts.
    fn killed_for_memory(&self) -> Option<u64> {
        None
    }

    /// Kills everything in it and removes all traces. Resolves when nothing is left. Called once.
    fn destroy(&self) -> BoxFuture<'_, Result<(), DestroyError>>;

    /// What the next program needs to go on with it; from then on it is not killed when this is dropped. `None` where it cannot
    /// go on without this program.
    fn leave(&self) -> Option<Bequest> {
        None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Hosts that are listed, through the agent: nothing else leads out.
    Listed,
    /// The same by a way of the driver's own, or the host's own network.
    All,
}

/// What a driver is called: `process`, `gvisor`, `microvm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DriverName(pub &'static str);

/// What sandboxes of a kind have in common: each can stand in for another of its shape.
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
    pub image: Image,
    /// For drivers that need a number which no other sandbox has (vsock).
    pub cid: u32,
}

/// Where an image's files are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Image {
    /// The machine's own.
    Host,
    /// A folder with a root file system.
    Folder(PathBuf),
}

pub struct Booted {
    pub instance: Box<dyn Instance>,
    /// To the agent.
    pub agent: Box<dyn ByteStream>,
    /// The sandbox's way out, for those that have one; the agent makes it for others.
    pub uplink: Option<Uplink>,
}

/// Connections that the sandbox's programs make to the proxy, carried out of it.
pub struct Uplink {
    /// Where the proxy seems to be, from inside: what `HTTP_PROXY` says.
    pub inside: SocketAddr,
    pub connections: mpsc::Receiver<Box<dyn ByteStream>>,
    /// The listener itself, for a program that takes our place; closed with the uplink.
    pub door: Option<OwnedFd>,
}

/// What a driver found when it looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// One line: what isolates, and what of it is missing here.
    pub summary: String,
    /// What does less than it could, and why.
    pub notes: Vec<Note>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub about: About,
    pub text: String,
}

/// What is less than it could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The limits of a sandbox as a whole: memory, processes, processors.
    Limits,
    /// What keeps it apart.
    Wall,
    /// How fast it is, or how much it may have of its disk.
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

/// The drivers that there are; the first is what sandboxes get that name none.
#[derive(Clone)]
pub struct Drivers {
    all: Arc<[Arc<dyn Driver>]>,
}

// === impl Note ===

impl Note {
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

    /// The driver that people call so.
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
