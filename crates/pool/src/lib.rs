//! Keeping things warm, whatever they are: isolates, sandboxes, standby processes. Three parts that know nothing of each
//! other, so that a user takes what it needs:
//!
//! - [`Gate`]: who may run now, who waits in line, who is refused. Fair between owners.
//! - [`Pool`]: warm things by key. A [`Shelf`] holds the things of one key; a [`Lease`] is the right to use one of them.
//! - [`Filler`]: a few spares that belong to nobody yet, made ahead of demand.
//!
//! What is kept is behind the traits [`Keep`] and [`Boot`]; all policy is here and is tested without any of it, in paused
//! time. Each part counts what it does, and the numbers always add up (`stats.rs`).
#![forbid(unsafe_code)]

mod backoff;
mod catalogue;
mod creation;
mod filler;
mod gate;
mod group;
mod holding;
mod keep;
mod lease;
mod pool;
mod rack;
mod room;
mod row;
mod shelf;
mod slot;
mod stats;
mod stock;
#[cfg(test)]
mod testing;

pub use backoff::BackoffRules;
pub use filler::{Boot, Filler, FillerRules, Fitness, Stopped};
pub use gate::{Bar, BriefPermit, Gate, GateLimits, OwnerGate, OwnerLimits, Permit, Refused};
pub use holding::{Holding, Standing};
pub use keep::{Affinity, Health, Keep, Load, Reason};
pub use lease::{BriefLease, Lease};
pub use pool::{Pool, PoolLimits};
pub use shelf::{AcquireError, Life, Shelf, ShelfRules};
pub use stats::{Departures, FillerStats, GateStats, PoolStats, Refusals, ShelfStats};
