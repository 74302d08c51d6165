//! The protocol: messages, and how they are written down.

pub mod answer;
pub mod exec;
pub mod file;
pub mod frame;
pub mod passage;
pub mod request;
pub mod wire;
