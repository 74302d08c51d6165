//! Many apps behind one gateway: which version a request is for, whether it is authorized, and what serves it.
//!
//! ```text
//! request -> route_cache.rs, routing_table.rs: which version
//!         -> version.rs: rate limit, token, static files, worker | site -> response
//!              `-- the owner has a cell of its own: cordon_proxy.rs -> that cell
//! ```
//! Response headers by which an app that is reached by path would affect its origin are removed (`shared_origin.rs`).
//! The table is built whole and swapped whole (`loader.rs`); a request keeps the one it began with. A version that is no longer
//! in the table is dropped when its last request is answered.

mod access;
mod asset_binding;
mod cordon_proxy;
mod counters;
mod files;
mod loader;
mod route_cache;
mod router;
mod routing_table;
mod shared_origin;
mod url_parts;
mod version;

pub use counters::VersionCounterRegistry;
pub use loader::{AppAddresses, VersionLoader};
pub use router::AppRouter;
