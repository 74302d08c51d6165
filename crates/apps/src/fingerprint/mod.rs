//! Has an app changed? Two answers, a cheap one and a sure one.
//!
//! [`Stamp`] is made of what the file system says about each file (size, times, inode), without opening any: where it is the
//! same, nothing changed. Where it differs, [`ContentHash`] tells whether the app did, or somebody only touched it: it is
//! made of names and contents alone, so the same app has the same hash on every machine.
//!
//! Invariants: no symbolic link is followed (where a link leads is part of both); only regular files are opened; no more than
//! 100,000 files and folders are looked at. What counts as content is said in `content.rs`.

mod hash;
mod stamp;
mod tree;

pub use hash::ContentHash;
pub use stamp::Stamp;
pub use tree::FingerprintError;

#[cfg(test)]
mod tests;
