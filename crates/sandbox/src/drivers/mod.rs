//! What sandboxes can be made of.

pub mod gvisor;
pub mod microvm;
pub mod process;
