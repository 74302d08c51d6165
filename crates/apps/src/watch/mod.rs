//! Tells when anything below the served folders changed, within a second.
//!
//! ```text
//! inotify ──────────────> an event ──> quiet for 100 ms, ──> survey: watch what is new ──> changed()
//! every 500 ms: is each root still the folder it was?    ──^  or 500 ms passed
//! every 3 s: did the time of any folder change?          ──^
//! ```
//!
//! What is told is only *that* something changed; what it was, the caller finds out by looking (`discovery`, `fingerprint`),
//! which it would have to do anyway, since events can be lost. A change too many is harmless, a missed one is not: so whenever
//! in doubt, this says `changed`. Three things make sure of it:
//!
//! * **Order.** New folders are watched before the change is told. What is put into them earlier the caller finds, what is
//!   put into them later is an event.
//! * **Nothing is trusted.** If the queue overflows, that is a change. Roots may vanish, come back, or be another folder by
//!   the same name (a link that was turned): each is compared every half second. Every few seconds all folders are compared
//!   by their times, which finds every file that came or went.
//! * **Polling** where there are no events to be had: on network file systems, without inotify, or when the kernel grants no
//!   more watches. Then every file is looked at, as often as that takes a tenth of the time or less.
//!
//! One watch is needed for each folder, of `node_modules` only for the folder itself (see `content.rs`). Links are followed
//! where `discovery` follows them.

mod inotify;
mod survey;
mod walk;
mod watcher;

pub use watcher::{Means, Watch, WatchRules};

#[cfg(test)]
mod tests;
