//! The settings of a connection, with defaults and their costs.

use std::time::Duration;

use hearth_core::ByteSize;

use crate::deflate::Deflate;

#[derive(Clone, Debug)]
pub struct Config {
    /// The longest message. Default 16 MB. A connection may hold that much for its peer.
    pub max_message: ByteSize,
    /// A peer that sends nothing for this long is pinged. Default 30 s.
    pub ping_after: Duration,
    /// A peer that sends nothing for this long, not even an answer to a ping, is lost. Default 75 s.
    pub lost_after: Duration,
    /// How long the closing handshake may take. Default 10 s.
    pub close_timeout: Duration,
    /// Whether messages may be compressed, as the handshake decided. Default off.
    pub deflate: Deflate,
}

// === impl Config ===

impl Default for Config {
    fn default() -> Self {
        Self {
            max_message: ByteSize::mb(16),
            ping_after: Duration::from_secs(30),
            lost_after: Duration::from_secs(75),
            close_timeout: Duration::from_secs(10),
            deflate: Deflate::Off,
        }
    }
}
