//! Which app answers: from a request's host and path to one version of one app.
//!
//! ```text
//! /_hearth… ─> Reserved
//! host ─ host.rs ─> exact host ─> *.suffix, longest first ─> name.DOMAIN ─> the app, base "/"
//!   no match ─> path.rs: /name[@range]/… or /@scope/name[@range]/… ─> the app, base "/name@range"
//! ```
//!
//! Without a range, the version is the one that was activated, else `latest`, else the highest release. Pre-releases are
//! served only when asked for: an app that has nothing else answers to no bare name, and to no host. `@latest` is the version
//! `latest`, else the highest release, whatever was activated.
//!
//! A host belongs to an app, not to a version: the hosts that count are those of the version that the bare name means. Those
//! of a version that nobody activated, or that was replaced, do not; so a host that a new version gives up is free.
//!
//! The table is built once, never changes, and does no I/O. A bare name or a host is found without allocating, in one to three
//! hash lookups (one more for each label of the host, where there are wildcards).

mod build;
mod host;
mod path;
mod table;

pub use build::{Active, Entry, RouteProblem};
pub use table::{Paths, Resolution, RouteTable};

#[cfg(test)]
mod tests;
