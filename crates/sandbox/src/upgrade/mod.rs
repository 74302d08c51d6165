//! Hands all sandboxes to the program that takes this one's place, without a break for what runs in
//! them: their processes go on, and the stream to each agent continues at the byte where it was.
//!
//! `Sandboxes::export` gives an [`UpgradePayload`], the next program passes it to
//! `Sandboxes::import`. Each part of a sandbox has the same pair of methods beside its own state;
//! this folder puts the parts together.
//!
//! | file | |
//! |---|---|
//! | `upgrade/saved.rs` | the saved forms (`Saved*`), which are the format |
//! | `upgrade/sandboxes.rs` | all sandboxes: which are handed over, and their owners |
//! | `upgrade/sandbox.rs` | one sandbox: when it may be exported, its jobs and clocks |
//! | `upgrade/pool.rs` | the counters, and how a saved sandbox becomes a sandbox again |
//! | `agent/upgrade.rs` | the stream to its agent |
//! | `drivers/process/spawner_handle.rs` | the driver's part: processes and sockets |
//!
//! The format has a version. A program that does not know the version closes the descriptors, which
//! ends all sandboxes of the payload.

mod pool;
mod sandbox;
mod sandboxes;
mod saved;

use std::os::fd::OwnedFd;

use serde_json::Value;

pub(crate) use saved::{
    Hex, SavedAgent, SavedAll, SavedConfig, SavedCounts, SavedJob, SavedLink, SavedNetwork, SavedSandbox, SavedState,
    SavedTail,
};

/// Version of the format. Raised whenever an older program would misread the payload.
pub(crate) const VERSION: u32 = 1;

/// What the next program needs to go on with the sandboxes.
#[derive(Debug, Default)]
pub struct UpgradePayload {
    pub note: Value,
    /// In the order that the note refers to.
    pub descriptors: Vec<OwnedFd>,
    /// Children of this process that end when the descriptors are closed, and must be waited for.
    pub children: Vec<u32>,
}
