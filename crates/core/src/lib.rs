//! What every crate of Hearth agrees on: ids, limits, outcomes, HTTP messages, module sources, and the traits between
//! crates. Nothing here does I/O, and nothing here knows V8.
#![forbid(unsafe_code)]

pub mod body;
pub mod cidr;
pub mod dispatch;
pub mod drain;
pub mod escape;
pub mod execution;
pub mod failure;
pub mod files;
pub mod headers;
pub mod hex;
pub mod http;
pub mod ids;
pub mod limits;
pub mod log_limit;
pub mod maybe_ready;
pub mod memory;
pub mod module;
pub mod percent;
pub mod pipe;
pub mod range;
pub mod rate_limit;
pub mod secret;
pub mod time;
pub mod units;
pub mod websocket;

pub use body::{Body, BodyError, ByteStream, RangedBody};
pub use cidr::Cidr;
pub use dispatch::{Dispatch, DispatchResult};
pub use drain::IdleConnections;
pub use failure::{Failure, LimitExceeded};
pub use headers::Headers;
pub use http::{ADMIN_COOKIE, Method, Request, Response};
pub use ids::{AppName, Owner, RequestId, VersionName};
pub use limits::{Footprint, LimitKind, Limits};
pub use maybe_ready::MaybeReady;
pub use memory::{AccountFull, Charge, MemoryAccount};
pub use units::ByteSize;
pub use websocket::SocketEnd;
