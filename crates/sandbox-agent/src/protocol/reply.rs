//! Replies of the agent.

use std::fmt;
use std::time::Duration;

use super::exec::{End, Language, OutputStream};
use super::file::FileEntry;
use super::request::AgentCallId;
use super::tunnel_stream::{FromGuest, TunnelConnId};
use super::wire::{Blob, wire_enum, wire_struct, wire_tags};

wire_enum! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum AgentReply, "reply" {
        /// The agent's version, and the languages whose interpreters it found.
        0 => Hello { version: u16, nonce: u64, languages: Vec<Language> },
        1 => Pong { id: AgentCallId },
        10 => Output { id: AgentCallId, stream: OutputStream, bytes: Blob },
        /// So many bytes of input were taken by the program, or discarded since it reads no more.
        11 => Taken { id: AgentCallId, bytes: u32 },
        /// The last reply to an exec.
        12 => Exit { id: AgentCallId, end: End, timed_out: bool, truncated: bool, duration: Duration },
        /// So many bytes of a stream are left out before what comes next: the end of it, just
        /// before `Exit`.
        13 => Omitted { id: AgentCallId, stream: OutputStream, bytes: u64 },
        /// The session's interpreter ended with this run, and its variables with it. `Exit` follows.
        14 => SessionLost { id: AgentCallId },
        /// A piece of a file; `end` if there is nothing after it. `size` is that of the whole file now.
        20 => Data { id: AgentCallId, bytes: Blob, end: bool, size: u64 },
        21 => Entries { id: AgentCallId, entries: Vec<FileEntry>, more: bool },
        22 => Found { id: AgentCallId, entry: FileEntry },
        30 => Done { id: AgentCallId },
        31 => Failed { id: AgentCallId, failure: CallFailure },
        40 => Listening { id: AgentCallId, port: u16 },
        41 => Tunnel { conn: TunnelConnId, message: FromGuest },
    }
}

wire_struct! {
    /// Why a request failed, for programs and for people.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct CallFailure {
        pub kind: FailureKind,
        pub message: String,
    }
}

wire_tags! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum FailureKind, "kind of failure" {
        /// No such file, folder or program.
        0 => NotFound,
        /// Not allowed in this sandbox.
        1 => Denied,
        /// The request makes no sense: a folder where a file must be, a name that is none.
        2 => Invalid,
        /// The sandbox is full: disk, processes, memory, open files.
        3 => Full,
        /// The language has no interpreter here. The message lists those that there are.
        4 => NoInterpreter,
        /// The session runs something at this moment.
        5 => Busy,
        /// It was cancelled.
        6 => Cancelled,
        /// Anything else.
        7 => Other,
    }
}

impl fmt::Display for CallFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CallFailure {}

impl AgentReply {
    /// The request that this answers; none for `Hello` and tunnel messages.
    pub fn id(&self) -> Option<AgentCallId> {
        match self {
            Self::Hello { .. } | Self::Tunnel { .. } => None,
            Self::Pong { id }
            | Self::Output { id, .. }
            | Self::Taken { id, .. }
            | Self::Exit { id, .. }
            | Self::Omitted { id, .. }
            | Self::SessionLost { id }
            | Self::Data { id, .. }
            | Self::Entries { id, .. }
            | Self::Found { id, .. }
            | Self::Done { id }
            | Self::Listening { id, .. }
            | Self::Failed { id, .. } => Some(*id),
        }
    }
}
