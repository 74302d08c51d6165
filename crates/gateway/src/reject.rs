//! Why the gateway itself rejects a request. After any of these the connection is closed: where the next request begins is not
//! certain.

use crate::chunked::ChunkError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reject {
    #[error("the request's head is malformed")]
    Malformed,
    #[error("lines must end with CR LF")]
    BareLineFeed,
    #[error("only HTTP/2, HTTP/1.1 and HTTP/1.0 are spoken here")]
    Version,
    #[error("the request's head is too large")]
    HeadTooLarge,
    #[error("the request has too many headers")]
    TooManyHeaders,
    #[error("the request's target is invalid")]
    Target,
    #[error("the Host header is missing")]
    HostMissing,
    #[error("there is more than one Host header")]
    HostRepeated,
    #[error("the Host header is invalid")]
    HostInvalid,
    #[error("the Host header and :authority name different hosts")]
    HostDiffers,
    #[error("the Content-Length header is invalid, or there are several that differ")]
    Length,
    #[error("Transfer-Encoding and Content-Length must not be sent together")]
    LengthAndEncoding,
    #[error("the only Transfer-Encoding is chunked, and not in HTTP/1.0")]
    Encoding,
    #[error("CONNECT is not supported")]
    Connect,
    #[error("the request's body is longer than the limit of {limit} bytes")]
    BodyTooLarge { limit: u64 },
    #[error("the request's head took too long")]
    HeadTimeout,
    #[error("nothing came of the request's body for too long")]
    BodyTimeout,
    #[error("the request's body is malformed: {0}")]
    Chunk(ChunkError),
    #[error("only version 13 of the WebSocket protocol is spoken here: send `sec-websocket-version: 13`")]
    SocketVersion,
    #[error("`sec-websocket-key` must be there once, with 16 bytes in base64")]
    SocketKey,
    /// The app's choice; the connection is kept.
    #[error(
        "there is a WebSocket here and nothing else: ask with `connection: upgrade` and `upgrade: websocket`, or over HTTP/2 with CONNECT"
    )]
    UpgradeRequired,
}

impl Reject {
    pub fn status(self) -> u16 {
        match self {
            Self::HeadTooLarge | Self::TooManyHeaders => 431,
            Self::BodyTooLarge { .. } => 413,
            Self::HeadTimeout | Self::BodyTimeout => 408,
            Self::Connect => 501,
            Self::Version => 505,
            Self::SocketVersion | Self::UpgradeRequired => 426,
            _ => 400,
        }
    }

    /// The error's `code`.
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed_head",
            Self::BareLineFeed => "bare_line_feed",
            Self::Version => "http_version",
            Self::HeadTooLarge => "head_too_large",
            Self::TooManyHeaders => "too_many_headers",
            Self::Target => "invalid_target",
            Self::HostMissing => "host_missing",
            Self::HostRepeated => "host_repeated",
            Self::HostInvalid => "host_invalid",
            Self::HostDiffers => "host_differs",
            Self::Length => "content_length",
            Self::LengthAndEncoding => "length_and_encoding",
            Self::Encoding => "transfer_encoding",
            Self::Connect => "connect",
            Self::BodyTooLarge { .. } => "body_too_large",
            Self::HeadTimeout => "head_timeout",
            Self::BodyTimeout => "body_timeout",
            Self::Chunk(_) => "malformed_body",
            Self::SocketVersion => "websocket_version",
            Self::SocketKey => "websocket_key",
            Self::UpgradeRequired => "upgrade_required",
        }
    }
}
