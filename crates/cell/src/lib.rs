//! What serves requests: apps behind [`hearth_core::Dispatch`], each in its way of running, over one warm pool of workers.
//!
//! | to understand | read |
//! |---|---|
//! | how a request gets to a worker | `host.rs` |
//! | the ways of running | `execution.rs`, `modes/` |
//! | what all apps share: pools, gates, spares, the budget of memory | `cell.rs`, `budget.rs`, `spares.rs` |
//! | how workers are made, judged and destroyed | `keeper.rs`, `pinned.rs` |
//! | stuck owners | `owners.rs` |
//! | what the operator sees | `report.rs` |
#![forbid(unsafe_code)]

mod budget;
mod cell;
mod execution;
mod host;
mod keeper;
mod modes;
mod owners;
mod pinned;
mod report;
mod spares;

pub use budget::Budget;
pub use cell::{Cell, CellConfig};
pub use execution::{Execution, UnknownExecution};
pub use hearth_pool::Life;
pub use host::{AppHost, AppRules};
pub use report::Report;
