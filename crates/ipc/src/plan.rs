//! The configuration of a cell. Control reads all files, so a cell needs access to none of the operator's.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use hearth_config::{JailMode, RateSpec, Ratio};
use hearth_core::ByteSize;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellPlan {
    pub role: CellRole,
    pub jail: JailPlan,
    pub threads: usize,
    pub isolates: usize,
    pub spares: usize,
    /// Number of main cells that share the memory budget.
    pub cells: usize,
    /// Of all main cells together.
    pub memory_budget: Option<ByteSize>,
    /// 0 means V8's own default.
    pub initial_heap: ByteSize,
    pub max_per_owner: Option<usize>,
    pub max_fresh: usize,
    pub max_queued: Option<usize>,
    pub queue: usize,
    pub queue_timeout: Duration,
    pub domains: Vec<String>,
    /// Apps are reachable as `/name/`, too.
    pub paths: bool,
    /// In the order in which their descriptors were passed.
    pub listeners: Vec<ListenerPlan>,
    pub front: FrontPlan,
    pub certificates: Vec<CertificatePlan>,
    /// CPU time that a turn may use after it was terminated before it counts as stuck.
    pub stuck_grace: Option<Duration>,
    /// Log filter, in the syntax of `RUST_LOG`.
    pub log: String,
}

/// The part that a cell plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CellRole {
    /// Serves clients.
    Main,
    /// Serves one owner's apps, to main cells only.
    Cordon,
}

/// The restrictions that a cell puts on itself before it runs any app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JailPlan {
    pub mode: JailMode,
    /// Folder trees that may be read. A folder that does not exist when the cell starts is left out.
    pub readable: Vec<PathBuf>,
    /// Folder trees that may be written to as well, and whose sockets may be connected to.
    pub writable: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ListenerPlan {
    Plain(SocketAddr),
    Tls(SocketAddr),
    /// A Unix socket, at this path, that only main cells connect to.
    Hop(PathBuf),
}

/// Settings of the HTTP server.
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
    /// The share of requests that are traced.
    pub traces: Ratio,
    /// Whether error responses contain the apps' own error texts.
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
    /// The source files, for error messages.
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
