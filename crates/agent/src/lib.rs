//! What a sandbox's agent and its client say to each other. The same over every byte stream: a socket pair into a
//! process's namespaces, a serial port into a virtual machine.
//!
//! | file | |
//! |---|---|
//! | `protocol/request.rs` | all that a client asks |
//! | `protocol/answer.rs` | all that the agent says |
//! | `protocol/exec.rs` | a program to run, and how it ended |
//! | `protocol/file.rs` | files and folders |
//! | `protocol/passage.rs` | connections to the proxy outside |
//! | `protocol/frame.rs` | messages in a stream of bytes |
//! | `protocol/wire.rs` | values as bytes |
//!
//! Either side takes the other for hostile: lengths are checked before memory is taken, and nothing is read twice.
#![forbid(unsafe_code)]

mod protocol;

pub use protocol::answer::{Answer, Failure, FailureKind};
pub use protocol::exec::{Command, End, Exec, Language, NoSuchLanguage, Signal, Stdin, Stream};
pub use protocol::file::{Entry, EntryKind, Missing, Removal};
pub use protocol::frame::{Decoder, LONGEST, encode};
pub use protocol::passage::{Inward, Outward, PASSAGE_WINDOW, PASSAGES, PassageId};
pub use protocol::request::{CHUNK, CallId, Request, STDIN_WINDOW, VERSION};
pub use protocol::wire::{Blob, Malformed, Wire};
