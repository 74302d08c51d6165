//! AppCeilings: limits that no app can exceed. They bind manifests and the operator's `defaults:`.
//! What the operator sets for one app by name is more specific and may exceed them.

use std::time::Duration;

use hearth_core::ByteSize;
use hearth_egress_policy::EgressPolicy;

/// Zero means no ceiling, as zero turns limits off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppCeilings {
    pub memory: Option<ByteSize>,
    pub cpu: Option<Duration>,
    pub timeout: Option<Duration>,
    pub max_body_size: ByteSize,
    pub max_workers: Option<u16>,
    pub concurrency: Option<u32>,
    /// `None`: `public` for uploaded apps, no ceiling for apps in a folder of the operator.
    pub egress: Option<EgressPolicy>,
}

// === impl AppCeilings ===

impl Default for AppCeilings {
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
