//! Pools of warm items, whatever they are: isolates, sandboxes, standby processes. Three independent parts:
//!
//! - [`Gate`]: admission control. Decides which request may run now, which waits in a queue, and which is rejected; fair
//!   between owners.
//! - [`Pool`]: warm items by key. A [`KeyedPool`] is the handle to the items of one key; a [`Lease`] is the right to use one.
//! - [`SparePool`]: a few pre-made items that belong to no key yet.
//!
//! What is pooled is behind the traits [`Manager`] and [`SpareFactory`]; all policy is here and is tested without any of it, in
//! paused time. Each part counts what it does, and the numbers always add up (`stats.rs`).
#![forbid(unsafe_code)]

mod backoff;
mod bucket;
mod bucket_map;
mod capacity;
mod creation;
mod deferred;
mod gate;
mod group;
mod inner;
mod keyed_pool;
mod lease;
mod listing;
mod manager;
mod pool;
mod slot;
mod spares;
mod stats;
#[cfg(test)]
mod testing;

pub use backoff::BackoffConfig;
pub use gate::{
    AdmissionError, Gate, GateEntry, GateLimits, OwnedPermit, OwnerBlock, OwnerLimits, OwnerQueue, Permit,
    QueuedRequest,
};
pub use keyed_pool::{AcquireError, Acquisition, ItemLifetime, KeyLimits, KeyedPool, QueuedCaller};
pub use lease::{Lease, OwnedLease};
pub use listing::{ItemInfo, ItemState};
pub use manager::{Affinity, DestroyReason, ItemHealth, Load, Manager};
pub use pool::{Pool, PoolLimits};
pub use spares::{SpareFactory, SparePool, SparePoolConfig, Stopped};
pub use stats::{DestroyCounts, GateStats, KeyStats, PoolStats, RejectionCounts, SpareStats};
