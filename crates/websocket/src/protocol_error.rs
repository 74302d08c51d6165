//! Violations of the protocol by a peer, and the status codes that they are closed with.

use hearth_core::ByteSize;
use hearth_core::websocket::SocketFault;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    #[error("a reserved bit is set, and no extension was negotiated")]
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
    #[error("a continuation frame has no message to continue")]
    LooseContinuation,
    #[error("a message begins before the previous one has ended")]
    Interrupted,
    #[error("a close frame has half a status code")]
    HalfCode,
    #[error("a close frame has a status code that must not be sent")]
    Code,
    #[error("text is not valid UTF-8")]
    Utf8,
    #[error("a compressed message cannot be decompressed")]
    Deflate,
    #[error("a compressed message has too many blocks that are marked as the last")]
    LastBlocks,
    #[error("a message has too many frames without content")]
    EmptyFrames,
    #[error("a message is larger than {limit}")]
    TooLarge { limit: ByteSize },
    /// Not a rule of the protocol: the app's memory for messages in flight is used up.
    #[error("the app has no memory left for this message: {limit} are in use")]
    NoMemory { limit: ByteSize },
}

impl ProtocolError {
    /// The status code of the close frame.
    pub fn code(self) -> u16 {
        match self {
            Self::Utf8 | Self::Deflate => 1007,
            Self::LastBlocks | Self::EmptyFrames => 1008,
            Self::TooLarge { .. } | Self::NoMemory { .. } => 1009,
            _ => 1002,
        }
    }

    /// The failure that the app gets.
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
            Self::LooseContinuation => SocketFault::Protocol("a continuation frame has no message to continue"),
            Self::Interrupted => SocketFault::Protocol("a message was interrupted by another"),
            Self::HalfCode | Self::Code => SocketFault::Protocol("the status code of a close frame is invalid"),
            Self::Deflate => SocketFault::Protocol("a compressed message cannot be decompressed"),
            Self::LastBlocks => SocketFault::Protocol("a compressed message has too many last blocks"),
            Self::EmptyFrames => SocketFault::Protocol("a message has too many frames without content"),
            Self::Utf8 => SocketFault::Protocol("text is not valid UTF-8"),
        }
    }
}
