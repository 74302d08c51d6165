//! What sandboxes can be made of.

mod blocking;
mod greeting;
pub mod gvisor;
pub mod microvm;
pub mod process;
mod removal;
