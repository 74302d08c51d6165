//! The protocol: messages and their encoding.

pub mod exec;
pub mod file;
pub mod frame;
pub mod reply;
pub mod request;
pub mod tunnel_stream;
pub mod wire;
