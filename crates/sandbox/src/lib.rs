//! Places for agents' code: each with its own files, processes and limits, and no network unless it is allowed some.
//!
//! Where to look:
//!
//! | question | file |
//! |---|---|
//! | what can be asked for, and by whom? | `sandboxes.rs` (the API), `registry.rs` (who has what), `id.rs` |
//! | what can be done with one? | `sandbox.rs`, `exec.rs`, `job.rs`, `files.rs`, `link.rs` |
//! | what may it be like? | `config.rs`, `network.rs`, `settings.rs` (what the operator wrote) |
//! | what is ready before anybody asks? | `pool.rs`, `ledger.rs` (the numbers) |
//! | how does one come to be, and end? | `driver.rs` (the trait), `drivers/`, `plant.rs` (boots), `unit.rs` (what is booted) |
//! | how is the agent inside spoken to? | `agent.rs` |
//! | how does anything get out? | `proxy.rs` |
//! | what when it is JavaScript, and needs no sandbox? | `isolate.rs` |
//! | what goes on when another program takes the server's place? | `heritage.rs` |
//! | what went wrong? | `error.rs` |
//! | how is it tested without any of it? | `fake.rs` |
//!
//! Invariants that hold across files:
//! - A sandbox is used by one session and then destroyed, never used again.
//! - Whatever a sandbox says is taken for hostile: lengths, ids and amounts are checked, and who lies is cut off.
//! - Nothing here waits for one sandbox while another could go on.
#![forbid(unsafe_code)]

mod activity;
mod agent;
mod cid;
mod config;
pub mod driver;
pub mod drivers;
mod error;
mod exec;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
mod files;
mod heritage;
mod hint;
mod id;
mod isolate;
mod job;
mod jobs;
mod ledger;
mod link;
mod network;
mod plant;
mod pool;
mod proxy;
mod registry;
mod sandbox;
mod sandboxes;
mod settings;
mod tail;
mod unit;

pub use config::{Ceilings, FullNetwork, ImageName, SandboxConfig, SandboxConfigBuilder, SandboxUpdate};
pub use driver::{About, Driver, DriverName, Drivers, Note, Probe};
pub use error::{ErrorCode, SandboxError};
pub use exec::{
    Code, Command, DEFAULT_TIMEOUT, ExecEnd, ExecEvent, ExecRequest, ExecResult, MAX_TIMEOUT, OUTPUT_LIMIT,
};
pub use files::{FILE_LIMIT, FileInfo, FileKind, PAGE_LIMIT, Page, Remove, WriteFile};
pub use hearth_agent::{Language, NoSuchLanguage, Signal, Stream};
pub use heritage::Bequest;
pub use hint::{Hint, Reachable};
pub use id::{Caller, JobId, SandboxId, SessionId};
pub use isolate::{IsolateRun, IsolateRunner};
pub use job::{JobInfo, JobOutput, JobState, Seen};
pub use ledger::PoolStats;
pub use link::{Direction, LINK_TTL, LinkToken, LinkedFile, MAX_LINK_TTL};
pub use network::{AllowList, NetworkPolicy, NetworkShape};
pub use pool::{Limits, PoolConfig, PoolHealth, Pooling, SandboxPool};
pub use proxy::{PackageConfig, Registries};
pub use sandbox::{ExecStream, Sandbox, SandboxState, Timestamp};
pub use sandboxes::{SandboxInfo, SandboxStats, Sandboxes, SandboxesConfig};
