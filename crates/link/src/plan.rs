//! What a cell is started with. Files are read by control, so that a cell needs none of the operator's.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use hearth_config::RateSpec;
use hearth_core::ByteSize;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellPlan {
    pub threads: usize,
    pub isolates: usize,
    pub spares: usize,
    pub memory_budget: Option<ByteSize>,
    pub max_queued: usize,
    pub queue: usize,
    pub queue_timeout: Duration,
    pub domains: Vec<String>,
    /// In the order in which they were passed on.
    pub listeners: Vec<ListenerPlan>,
    pub front: FrontPlan,
    pub certificates: Vec<CertificatePlan>,
    /// Where to keep what each thread is running.
    pub breadcrumbs: Option<PathBuf>,
    /// Which log lines are wanted, as `RUST_LOG` says it.
    pub log: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ListenerPlan {
    Plain(SocketAddr),
    Tls(SocketAddr),
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
