//! What serves requests: the workers of an app behind [`hearth_core::Dispatch`]. Pools of many apps grow from here.
#![forbid(unsafe_code)]

mod admission;
mod host;

pub use host::{AppHost, HostConfig};
