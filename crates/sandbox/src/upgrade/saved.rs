//! The saved forms: what of each sandbox is written into the payload. Every type here is part of the
//! format: a field that is added needs a default, for payloads of programs that do not have it.

use std::collections::BTreeMap;
use std::time::Duration;

use hearth_core::hex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::file_link::Direction;

/// All sandboxes.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedAll {
    pub(crate) version: u32,
    /// When it was written, in milliseconds since 1970: clocks go on meanwhile.
    pub(crate) at: u64,
    pub(crate) counts: SavedCounts,
    pub(crate) sandboxes: Vec<SavedSandbox>,
    pub(crate) links: Vec<SavedLink>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedCounts {
    pub(crate) warm_hits: u64,
    pub(crate) cold_misses: u64,
    pub(crate) created: u64,
    pub(crate) destroyed: u64,
    pub(crate) failed: u64,
    pub(crate) unhealthy: u64,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct SavedSandbox {
    pub(crate) id: String,
    /// The session that it belongs to; the operator, where there is none.
    pub(crate) session: Option<String>,
    pub(crate) driver: String,
    pub(crate) config: SavedConfig,
    /// Milliseconds since 1970.
    pub(crate) created_at: u64,
    pub(crate) age: Duration,
    pub(crate) idle: Duration,
    pub(crate) agent: SavedAgent,
    pub(crate) jobs: Vec<SavedJob>,
    /// In the driver's own words.
    pub(crate) instance: Value,
    /// So many of the descriptors are its own.
    pub(crate) descriptors: usize,
    pub(crate) children: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct SavedConfig {
    pub(crate) image: String,
    pub(crate) memory: u64,
    /// Programs before had none of its own: half of the memory.
    #[serde(default)]
    pub(crate) disk: Option<u64>,
    pub(crate) cpus: u16,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) network: SavedNetwork,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) ttl: Option<Duration>,
    /// Whether it was asked for by name.
    pub(crate) driver: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SavedNetwork {
    None,
    Hosts(Vec<String>),
    Full,
}

/// The stream to an agent, between two messages of ours.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedAgent {
    /// Of the protocol.
    pub(crate) version: u16,
    /// Ids of calls are not used twice.
    pub(crate) next: u64,
    pub(crate) languages: Vec<String>,
    /// The beginning of a message whose rest has not come yet.
    pub(crate) unread: Hex,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct SavedJob {
    pub(crate) id: String,
    pub(crate) title: String,
    /// Under which the agent speaks of it.
    pub(crate) call: Option<u64>,
    pub(crate) state: SavedState,
    pub(crate) stdout: SavedTail,
    pub(crate) stderr: SavedTail,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SavedState {
    Running,
    Ended { exit_code: Option<i32>, signal: Option<i32>, truncated: bool, timed_out: bool, duration: Duration },
    Failed { reason: String },
}

#[derive(Serialize, Deserialize)]
pub(crate) struct SavedTail {
    pub(crate) dropped: u64,
    pub(crate) bytes: Hex,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct SavedLink {
    pub(crate) token: String,
    pub(crate) sandbox: String,
    pub(crate) path: String,
    pub(crate) direction: Direction,
    pub(crate) left: Duration,
}

/// Bytes, as two digits each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Hex(pub(crate) Vec<u8>);

#[derive(Debug, thiserror::Error)]
#[error("these are no bytes")]
pub(crate) struct NoHex;

// === impl Hex ===

impl From<Hex> for String {
    fn from(bytes: Hex) -> Self {
        hex::encode(&bytes.0)
    }
}

impl TryFrom<String> for Hex {
    type Error = NoHex;

    fn try_from(text: String) -> Result<Self, NoHex> {
        hex::decode(&text).map(Self).ok_or(NoHex)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were() {
        let all = Hex((0..=255).collect());
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(text.len(), 2 * 256 + 2);
        assert_eq!(serde_json::from_str::<Hex>(&text).unwrap(), all);
        for wrong in ["\"0\"", "\"0g\"", "\"+1\"", "7"] {
            assert!(serde_json::from_str::<Hex>(wrong).is_err(), "{wrong}");
        }
    }
}
