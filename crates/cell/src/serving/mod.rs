//! Many apps on one front: which version a request is for, whether it may, and what answers it.
//!
//! ```text
//! request -> recent.rs, table.rs: which version -> served.rs: rate, auth, static files, worker | site -> response
//!                                                  `-- its owner has a cell of its own: hop.rs -> that cell
//! ```
//! What an app that was reached by path says of its origin is taken out of the response (shared_origin.rs).
//! The table is made whole and swapped whole; a request keeps what it began with. A version that is no longer in the table
//! goes when the last request that has it has its answer.

mod address;
mod counters;
mod files;
mod front;
mod guard;
mod hop;
mod recent;
mod served;
mod shared_origin;
mod table;

pub use counters::Registry;
pub use front::Front;
pub use table::{Addresses, Workshop};
