//! Versions whose owner has a cell of its own, a cordon. A main cell passes their requests on unchanged and passes back the
//! responses; the cordon checks access, serves and counts.
//!
//! The main cell has found the version and removed its base from the URL by then, and names the version in a header: so both
//! cells mean the same version also while a catalogue has reached only one of them. No client can send this header: the gateway
//! removes Hearth's own headers from all requests except those of a hop.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hearth_core::{AppName, Failure, Request, Response, VersionName};
use hearth_gateway::{HOP_HEADER, Hop, HopError};
use hearth_ipc::VersionSpec;

/// A cell that has just ended is restarted in about this time.
const MIN_RETRY_DELAY: Duration = Duration::from_secs(1);
/// What a response may take beyond the app's timeout and the queue timeout: the cell may have to be started first.
const CELL_START_ALLOWANCE: Duration = Duration::from_secs(15);

/// Where a version is that this cell does not serve.
pub(super) enum OtherCell {
    Cordon {
        hop: Arc<Hop>,
        timeout: Duration,
    },
    /// Its cell crashed too often, and is not started again before this time.
    Shut {
        until: SystemTime,
    },
}

/// The version that a main cell asks a cordon for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HopTarget {
    pub(super) app: AppName,
    pub(super) version: VersionName,
}

// === impl OtherCell ===

impl OtherCell {
    pub(super) fn cordon(hop: Arc<Hop>, spec: &VersionSpec, queue_timeout: Duration) -> Self {
        let timeout = match spec.settings.timeout {
            Duration::ZERO => Duration::MAX,
            timeout => timeout.saturating_add(queue_timeout).saturating_add(CELL_START_ALLOWANCE),
        };
        Self::Cordon { hop, timeout }
    }

    /// `until` in milliseconds since 1970.
    pub(super) fn shut(until: u64) -> Self {
        Self::Shut { until: SystemTime::UNIX_EPOCH + Duration::from_millis(until) }
    }

    pub(super) async fn send(&self, request: Request, target: &HopTarget) -> Result<Response, Failure> {
        match self {
            Self::Cordon { hop, timeout } => {
                let answer = hop.send(request, &target.to_string(), *timeout).await;
                answer.map_err(|error| failure(&error, target))
            }
            Self::Shut { until } => {
                let left = until.duration_since(SystemTime::now()).unwrap_or_default();
                Err(Failure::Cordoned { retry_after: left.max(MIN_RETRY_DELAY) })
            }
        }
    }
}

fn failure(error: &HopError, target: &HopTarget) -> Failure {
    let (app, version) = (target.app.as_str(), target.version.as_str());
    tracing::debug!(app, version, %error, "The owner's own cell gave no answer");
    match error {
        HopError::ConnectFailed { .. } | HopError::ConnectionLost(_) => {
            Failure::Cordoned { retry_after: MIN_RETRY_DELAY }
        }
        HopError::TimedOut(_) => Failure::Capacity { reason: "the app's own process does not answer" },
        HopError::InvalidResponse(error) => Failure::Internal { message: error.to_string() },
    }
}

// === impl HopTarget ===

impl HopTarget {
    /// Removes the target from a request's headers.
    pub(super) fn take(request: &mut Request) -> Option<Self> {
        let target = std::str::from_utf8(request.headers.get(HOP_HEADER)?).ok().and_then(Self::parse);
        request.headers.remove(HOP_HEADER);
        target
    }

    /// `NAME VERSION`
    fn parse(text: &str) -> Option<Self> {
        let (app, version) = text.split_once(' ')?;
        (!version.contains(' ')).then(|| Self { app: AppName::new(app), version: VersionName::new(version) })
    }
}

impl std::fmt::Display for HopTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.app, self.version)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn hop_targets_are_parsed_as_written() {
        let target = HopTarget { app: AppName::new("@scope/shop"), version: VersionName::new("1.2.3-a+b") };
        assert_eq!(HopTarget::parse(&target.to_string()), Some(target));
        for bad in ["", "shop", "shop 1.0.0 x"] {
            assert_eq!(HopTarget::parse(bad), None, "{bad:?}");
        }
    }
}
