//! The protocol between a sandbox's agent and its client. The same over every byte stream: a socket
//! pair into a process's namespaces, a serial port into a virtual machine.
//!
//! | file | |
//! |---|---|
//! | `protocol/request.rs` | requests of the client |
//! | `protocol/reply.rs` | replies of the agent |
//! | `protocol/exec.rs` | a program to run, and how it ended |
//! | `protocol/file.rs` | files and folders |
//! | `protocol/tunnel_stream.rs` | connections to the proxy outside |
//! | `protocol/frame.rs` | messages in a stream of bytes |
//! | `protocol/wire.rs` | encoding of values |
//!
//! Neither side trusts the other: lengths are checked before memory is taken, and nothing is read
//! twice.
#![forbid(unsafe_code)]

mod protocol;

pub use protocol::exec::{End, Exec, GuestCommand, Language, NoSuchLanguage, OutputStream, Signal, Stdin};
pub use protocol::file::{EntryKind, FileEntry, Missing, Removal};
pub use protocol::frame::{FrameDecoder, MAX_MESSAGE_BYTES, encode};
pub use protocol::reply::{AgentReply, CallFailure, FailureKind};
pub use protocol::request::{AgentCallId, AgentRequest, CHUNK, STDIN_WINDOW, VERSION};
pub use protocol::tunnel_stream::{FromGuest, MAX_TUNNEL_CONNS, TUNNEL_WINDOW, ToGuest, TunnelConnId};
pub use protocol::wire::{Blob, Malformed, WireValue};
