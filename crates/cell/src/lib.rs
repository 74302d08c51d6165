//! Serves requests: apps behind [`hearth_core::Dispatch`], each in its execution mode, over one warm pool of workers.
//!
//! | to understand | read |
//! |---|---|
//! | how a request gets to a worker | `host.rs` |
//! | the execution modes | `modes/` |
//! | what all apps share: pools, gates, spares, the memory budget | `app_pools.rs`, `budget.rs`, `spares.rs` |
//! | how workers are made, described and destroyed | `worker_manager.rs`, `pinned.rs`, `lifecycle_hooks.rs` |
//! | owners: their queues, and what happens when a turn is stuck | `admission.rs` |
//! | what the operator sees | `report.rs`, `workers.rs`, `timings.rs` |
//! | many apps behind one gateway | `routing/`, `shared_services.rs`, `app_limits.rs` |
//! | the cell as a process of its own | `process/` |
#![forbid(unsafe_code)]

mod admission;
mod app_limits;
mod app_pools;
mod budget;
mod crash_breadcrumbs;
mod host;
mod lifecycle_hooks;
mod modes;
mod pinned;
pub mod process;
mod report;
mod routing;
mod shared_services;
mod spares;
mod timings;
mod worker_manager;
mod workers;

pub use app_limits::{ServerLimits, engine_limits};
pub use app_pools::{AppPools, AppPoolsConfig};
pub use budget::Budget;
pub use crash_breadcrumbs::{CrashBreadcrumbsError, record_breadcrumbs_in_file};
pub use hearth_core::execution::{Execution, UnknownExecution};
pub use hearth_pool::ItemLifetime;
pub use host::{AppHost, AppRules};
pub use report::Report;
pub use shared_services::{AppParts, SharedServices, TlsRootsError};
pub use timings::Timings;
pub use workers::{WorkerReport, WorkerState, WorkerStatus};
