//! The drivers.

mod blocking;
pub mod gvisor;
mod handshake;
pub mod microvm;
pub mod process;
mod removal;
