//! What a peer can do wrong, as causes, and the code that it is told.

use hearth_core::ByteSize;
use hearth_core::websocket::SocketFault;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    #[error("a reserved bit is set, and no extension was agreed on")]
    ReservedBit,
    #[error("a frame has an opcode that is reserved")]
    Opcode,
    #[error("a client's frame is not masked")]
    Unmasked,
    #[error("a server's frame is masked")]
    Masked,
    #[error("a length is not written in the fewest bytes")]
    Length,
    #[error("a control frame is longer than 125 bytes")]
    LongControl,
    #[error("a control frame is fragmented")]
    FragmentedControl,
    #[error("a continuation continues nothing")]
    LooseContinuation,
    #[error("a message begins before the one before has ended")]
    Interrupted,
    #[error("a goodbye has half a code")]
    HalfCode,
    #[error("a goodbye has a code that must not be sent")]
    Code,
    #[error("text is not valid UTF-8")]
    Utf8,
    #[error("a compressed message cannot be decompressed")]
    Deflate,
    #[error("a compressed message has too many blocks that say that they are the last")]
    LastBlocks,
    #[error("a message has too many frames without content")]
    EmptyFrames,
    #[error("a message is larger than {limit}")]
    TooLarge { limit: ByteSize },
    /// No rule of the protocol: the app's memory for messages on their way is used up.
    #[error("the app has no memory left for this message: {limit} are in use")]
    NoMemory { limit: ByteSize },
}

impl Violation {
    /// The code of the goodbye.
    pub fn code(self) -> u16 {
        match self {
            Self::Utf8 | Self::Deflate => 1007,
            Self::LastBlocks | Self::EmptyFrames => 1008,
            Self::TooLarge { .. } | Self::NoMemory { .. } => 1009,
            _ => 1002,
        }
    }

    /// What the app hears of it.
    pub fn fault(self) -> SocketFault {
        match self {
            Self::TooLarge { limit } | Self::NoMemory { limit } => SocketFault::TooLarge { limit },
            Self::ReservedBit => SocketFault::Protocol("a reserved bit is set"),
            Self::Opcode => SocketFault::Protocol("an opcode is reserved"),
            Self::Unmasked => SocketFault::Protocol("a frame is not masked"),
            Self::Masked => SocketFault::Protocol("a frame is masked"),
            Self::Length => SocketFault::Protocol("a length is not written in the fewest bytes"),
            Self::LongControl => SocketFault::Protocol("a control frame is too long"),
            Self::FragmentedControl => SocketFault::Protocol("a control frame is fragmented"),
            Self::LooseContinuation => SocketFault::Protocol("a continuation continues nothing"),
            Self::Interrupted => SocketFault::Protocol("a message was interrupted by another"),
            Self::HalfCode | Self::Code => SocketFault::Protocol("the code of a goodbye is wrong"),
            Self::Deflate => SocketFault::Protocol("a compressed message cannot be decompressed"),
            Self::LastBlocks => SocketFault::Protocol("a compressed message has too many last blocks"),
            Self::EmptyFrames => SocketFault::Protocol("a message has too many frames without content"),
            Self::Utf8 => SocketFault::Protocol("text is not valid UTF-8"),
        }
    }
}
