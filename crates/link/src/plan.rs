//! What a cell is started with. Files are read by control, so that a cell needs none of the operator's.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use hearth_config::{JailMode, RateSpec, Ratio};
use hearth_core::ByteSize;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellPlan {
    pub role: Role,
    pub jail: JailPlan,
    pub threads: usize,
    pub isolates: usize,
    pub spares: usize,
    /// Main cells that share the memory.
    pub cells: usize,
    /// Of all of them together.
    pub memory_budget: Option<ByteSize>,
    /// V8's own where it is 0.
    pub initial_heap: ByteSize,
    pub max_per_owner: Option<usize>,
    pub max_fresh: usize,
    pub max_queued: Option<usize>,
    pub queue: usize,
    pub queue_timeout: Duration,
    pub domains: Vec<String>,
    /// Apps are reached as `/name/`, too.
    pub paths: bool,
    /// In the order in which they were passed on.
    pub listeners: Vec<ListenerPlan>,
    pub front: FrontPlan,
    pub certificates: Vec<CertificatePlan>,
    /// How long a turn may go on after it was terminated, in time of its thread's, before it is stuck.
    pub stuck_grace: Option<Duration>,
    /// Which log lines are wanted, as `RUST_LOG` says it.
    pub log: String,
}

/// What a cell is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Serves clients.
    Main,
    /// Serves one owner's apps to the main cells, and to nobody else.
    Cordon,
}

/// What a cell gives up before it runs any app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JailPlan {
    pub mode: JailMode,
    /// Folders, with all below them, that may be read. One that is not there when the cell starts is left out.
    pub readable: Vec<PathBuf>,
    /// Folders, with all below them, that may be written to as well, and whose sockets may be connected to.
    pub writable: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ListenerPlan {
    Plain(SocketAddr),
    Tls(SocketAddr),
    /// A Unix socket, at this path, that only main cells connect to.
    Hop(PathBuf),
}

/// The HTTP front.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrontPlan {
    pub max_body: ByteSize,
    pub head_timeout: Duration,
    pub keep_alive_timeout: Duration,
    pub body_timeout: Duration,
    pub write_timeout: Duration,
    pub drain_timeout: Duration,
    pub max_connections: usize,
    pub max_connections_per_client: Option<usize>,
    pub rate: Option<RateSpec>,
    pub trusted_proxies: Vec<String>,
    pub compression: bool,
    pub access_log: AccessFormat,
    /// Which requests are traced.
    pub traces: Ratio,
    /// Whether clients are shown the apps' own error texts.
    pub detailed_errors: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessFormat {
    #[default]
    Off,
    Text,
    Json,
}

/// A certificate with its key, as PEM.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertificatePlan {
    /// The files they came from, for error messages.
    pub file: String,
    pub key_file: String,
    pub certificate: String,
    pub key: String,
}

impl std::fmt::Debug for CertificatePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CertificatePlan").field("file", &self.file).finish_non_exhaustive()
    }
}
