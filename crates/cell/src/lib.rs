//! What serves requests: apps behind [`hearth_core::Dispatch`], each in its way of running, over one warm pool of workers.
//!
//! | to understand | read |
//! |---|---|
//! | how a request gets to a worker | `host.rs` |
//! | the ways of running | `execution.rs`, `modes/` |
//! | what all apps share: pools, gates, spares, the budget of memory | `cell.rs`, `budget.rs`, `spares.rs` |
//! | how workers are made, judged and destroyed | `keeper.rs`, `pinned.rs`, `endings.rs` |
//! | stuck owners | `owners.rs` |
//! | what the operator sees | `report.rs`, `workers.rs`, `timings.rs` |
//! | many apps on one front | `serving/`, `commons.rs`, `terms.rs` |
//! | the cell as a process of its own | `process/` |
#![forbid(unsafe_code)]

mod budget;
mod cell;
mod commons;
mod crumbs;
mod endings;
mod execution;
mod host;
mod keeper;
mod modes;
mod owners;
mod pinned;
pub mod process;
mod report;
mod serving;
mod spares;
mod terms;
mod timings;
mod workers;

pub use budget::Budget;
pub use cell::{Cell, CellConfig};
pub use commons::{Commons, NoRoots, Parts};
pub use crumbs::{CrumbsError, keep_breadcrumbs};
pub use execution::{Execution, UnknownExecution};
pub use hearth_pool::ItemLifetime;
pub use host::{AppHost, AppRules};
pub use report::Report;
pub use terms::{Terms, limits};
pub use timings::Timings;
pub use workers::{WorkerReport, WorkerState, WorkerStatus};
