//! The start-up snapshot. This crate's build script makes it from the sources that the program is
//! built from: there is nothing to install or to cache, and it cannot be stale.
#![forbid(unsafe_code)]

use hearth_runtime::Snapshot;

/// All built-in APIs.
pub fn snapshot() -> Snapshot {
    Snapshot::from_static(include_bytes!(concat!(env!("OUT_DIR"), "/hearth.snapshot")))
}
