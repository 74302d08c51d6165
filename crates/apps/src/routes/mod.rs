//! Routing: maps a request's host and path to one version of one app.
//!
//! ```text
//! /_hearth… ─> Reserved
//! host ─ host.rs ─> exact host ─> *.suffix, longest first ─> name.DOMAIN ─> the app, base "/"
//!   no match ─> path.rs: /name[@range]/… or /@scope/name[@range]/… ─> the app, base "/name@range"
//! ```
//!
//! Without a range, the version is the activated one, else `latest`, else the highest release.
//! Pre-releases are served only if requested: an app that has only those has no bare name and no
//! host. `@latest` is the version `latest`, else the highest release, regardless of activation.
//!
//! A host belongs to an app, not to a version: the hosts of the version that the bare name means
//! apply. Hosts of other versions do not, so a host that a new version gives up becomes free.
//!
//! The table is built once, is immutable, and does no I/O. A bare name or a host is found without
//! allocation, in one to three hash lookups (one more per label of the host if there are
//! wildcards).

mod build;
mod host;
mod path;
mod table;

pub use build::{RouteActivation, RouteEntry, RouteProblem};
pub use table::{Paths, Resolution, RouteTable};

#[cfg(test)]
mod tests;
