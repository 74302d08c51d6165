//! What no app can choose its way beyond. Ceilings bind manifests and the operator's `defaults:`; what the operator says
//! about one app by name is more exact than a ceiling, and may be above it.

use std::time::Duration;

use hearth_core::ByteSize;
use hearth_egress::EgressPolicy;

/// A zero is no ceiling, as a zero turns limits off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ceilings {
    pub memory: Option<ByteSize>,
    pub cpu: Option<Duration>,
    pub timeout: Option<Duration>,
    pub max_body_size: ByteSize,
    pub max_workers: Option<u16>,
    pub concurrency: Option<u32>,
    /// `None`: `public` for apps that were uploaded, none for those in a folder that the operator serves.
    pub egress: Option<EgressPolicy>,
}

// === impl Ceilings ===

impl Default for Ceilings {
    fn default() -> Self {
        Self {
            memory: None,
            cpu: None,
            timeout: None,
            max_body_size: ByteSize::mb(100),
            max_workers: None,
            concurrency: None,
            egress: None,
        }
    }
}
