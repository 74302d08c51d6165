//! Reports within a second that a file below the served folders changed.
//!
//! ```text
//! inotify ──────────────> an event ──> quiet for 100 ms, ──> scan: watch what is new ──> changed()
//! every 500 ms: is each root still the folder it was?    ──^  or 500 ms passed
//! every 3 s: did the time of any folder change?          ──^
//! ```
//!
//! The report is only *that* a change happened; the caller finds out what (`discovery`,
//! `fingerprint`), which it has to do anyway, since events can be lost. A superfluous report is
//! harmless, a missed change is not; in doubt, a change is reported. Three mechanisms ensure that:
//!
//! * **Order.** New folders are watched before the change is reported. Files added earlier are
//!   found by the caller, files added later cause an event.
//! * **Verification.** A queue overflow is a change. Roots may vanish, reappear, or become another
//!   folder of the same name (a redirected link): each is compared every half second. Every few
//!   seconds all folders are compared by their times, which finds every added or removed file.
//! * **Polling** without events: on network file systems, without inotify, or if the kernel grants
//!   no more watches. All files are compared then, as often as that takes at most a tenth of the
//!   time.
//!
//! Each folder needs one watch, `node_modules` one for the folder itself only (see
//! `ignore_rules.rs`). Links are followed as in `discovery`.

mod inotify;
mod scan;
mod walk;
mod watcher;

pub use watcher::{Means, Watch, WatchRules};

#[cfg(test)]
mod tests;
