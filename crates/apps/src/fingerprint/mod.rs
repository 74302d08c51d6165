//! Detects whether an app changed, with a cheap and an exact method.
//!
//! A [`Stamp`] is made of each file's metadata (size, times, inode) without opening it: if it is
//! equal, nothing changed. If it differs, [`AppHash`] shows whether the content did: it depends
//! on names and contents only, so the same app has the same hash on every machine.
//!
//! Invariants: no symbolic link is followed (its target is part of both); only regular files are
//! opened; at most 100,000 files and folders are read. `ignore_rules.rs` defines which files count.

mod hash;
mod stamp;
mod tree;

pub use hash::AppHash;
pub use stamp::Stamp;
pub use tree::FingerprintError;

#[cfg(test)]
mod tests;
