//! The start-up snapshot, made by this crate's build script with the same sources that the program is built from: there is
//! nothing to install, to cache or to go stale.
#![forbid(unsafe_code)]

use hearth_runtime::Snapshot;

/// All built-in APIs, ready-made.
pub fn snapshot() -> Snapshot {
    Snapshot::from_static(include_bytes!(concat!(env!("OUT_DIR"), "/hearth.snapshot")))
}
