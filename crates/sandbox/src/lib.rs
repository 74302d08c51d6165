//! Sandboxes for agents' code: each with its own files, processes and limits, and without a network
//! unless some hosts are allowed.
//!
//! Where to look:
//!
//! | topic | file |
//! |---|---|
//! | the API, and the owners of sandboxes | `sandboxes.rs`, `registry.rs`, `id.rs` |
//! | operations on one sandbox | `sandbox.rs`, `exec.rs`, `job.rs`, `files.rs`, `file_link.rs` |
//! | configuration | `config.rs`, `network.rs`, `settings.rs` (from `hearth.yaml`) |
//! | ready sandboxes, and counts of all | `pool.rs`, `pool_stats.rs` |
//! | how does one come to be, and end? | `driver.rs` (the trait), `drivers/`, `booter.rs` (boots), `booted.rs` (what is booted) |
//! | the connection to the agent inside | `agent.rs` |
//! | the way out to allowed hosts | `proxy.rs` |
//! | JavaScript that needs no sandbox | `isolate.rs` |
//! | handing sandboxes to the next program | `upgrade/` |
//! | errors | `error.rs` |
//! | the driver for tests | `fake.rs` |
//!
//! Invariants that hold across files:
//! - A sandbox is used by one session and then destroyed, never used again.
//! - Everything that comes out of a sandbox is untrusted: lengths, ids and amounts are checked, and an
//!   agent that breaks the protocol is cut off.
//! - No call on one sandbox waits for another sandbox.
#![forbid(unsafe_code)]

mod activity;
mod agent;
mod boot;
mod booted_sandbox;
mod config;
pub mod driver;
pub mod drivers;
mod error;
mod exec;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
mod file_link;
mod files;
mod hint;
mod id;
mod isolate;
mod job;
mod jobs;
mod network;
mod pool;
mod pool_stats;
mod proxy;
mod registry;
mod sandbox;
mod sandboxes;
mod settings;
mod tail;
mod upgrade;
mod vsock_cid;

pub use config::{FullNetwork, ImageName, SandboxCeilings, SandboxConfig, SandboxConfigBuilder, SandboxUpdate};
pub use driver::{About, Driver, DriverName, Drivers, Probe, ProbeNote};
pub use error::{ErrorCode, SandboxError};
pub use exec::{
    Code, DEFAULT_TIMEOUT, ExecCommand, ExecEnd, ExecEvent, ExecRequest, ExecResult, MAX_TIMEOUT, OUTPUT_LIMIT,
};
pub use file_link::{Direction, LINK_TTL, LinkToken, LinkedFile, MAX_LINK_TTL};
pub use files::{DirectoryPage, FILE_LIMIT, FileInfo, FileKind, PAGE_LIMIT, Remove, WriteFile};
pub use hearth_sandbox_agent::{Language, NoSuchLanguage, OutputStream, Signal};
pub use hint::{Hint, Reachable};
pub use id::{Caller, JobId, SandboxId, SessionId};
pub use isolate::{IsolateRun, IsolateRunner};
pub use job::{JobInfo, JobOutput, JobState, Seen};
pub use network::{AllowList, NetworkPolicy, NetworkShape};
pub use pool::{LimitsPolicy, PoolConfig, PoolHealth, Pooling, SandboxPool};
pub use pool_stats::SandboxPoolStats;
pub use proxy::{PackageConfig, Registries};
pub use sandbox::{ExecStream, Sandbox, SandboxState, Timestamp};
pub use sandboxes::{SandboxInfo, SandboxStats, Sandboxes, SandboxesConfig};
pub use upgrade::UpgradePayload;
