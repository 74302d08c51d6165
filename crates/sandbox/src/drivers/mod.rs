//! What sandboxes can be made of.

mod blocking;
pub mod gvisor;
pub mod microvm;
pub mod process;
