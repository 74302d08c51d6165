//! Versions whose owner has a cell of its own, a cordon. A main cell hands their requests on as they came, and passes back
//! what comes; the cordon judges who may come in, answers and counts.
//!
//! The main cell has found the version and taken its base off the url by then, and says which it is in an errand: so the two
//! mean the same however their tables differ, while a catalogue is on its way to one of them too. No client can write an
//! errand: the front takes what Hearth's own headers are out of every request but those of a hop.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hearth_core::{AppName, Failure, Request, Response, VersionName};
use hearth_gateway::{HOP_HEADER, Hop, HopError};
use hearth_ipc::VersionSpec;

/// A cell that was there a moment ago is back in about this time.
const SOON: Duration = Duration::from_secs(1);
/// What an answer may take beyond the app's own time and its time in line: the cell may have to be started first.
const SLACK: Duration = Duration::from_secs(15);

/// Where a version is that is not here.
pub(super) enum Elsewhere {
    Cordon {
        hop: Arc<Hop>,
        patience: Duration,
    },
    /// Nowhere: its cell went down too often, and is not started again before this time.
    Shut {
        until: SystemTime,
    },
}

/// What a main cell asks of a cordon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Errand {
    pub(super) app: AppName,
    pub(super) version: VersionName,
}

// === impl Elsewhere ===

impl Elsewhere {
    pub(super) fn cordon(hop: Arc<Hop>, spec: &VersionSpec, queue_timeout: Duration) -> Self {
        let patience = match spec.settings.timeout {
            Duration::ZERO => Duration::MAX,
            timeout => timeout.saturating_add(queue_timeout).saturating_add(SLACK),
        };
        Self::Cordon { hop, patience }
    }

    /// `until` in milliseconds since 1970.
    pub(super) fn shut(until: u64) -> Self {
        Self::Shut { until: SystemTime::UNIX_EPOCH + Duration::from_millis(until) }
    }

    pub(super) async fn answer(&self, request: Request, errand: &Errand) -> Result<Response, Failure> {
        match self {
            Self::Cordon { hop, patience } => {
                let answer = hop.send(request, &errand.to_string(), *patience).await;
                answer.map_err(|error| failure(&error, errand))
            }
            Self::Shut { until } => {
                let left = until.duration_since(SystemTime::now()).unwrap_or_default();
                Err(Failure::Cordoned { retry_after: left.max(SOON) })
            }
        }
    }
}

fn failure(error: &HopError, errand: &Errand) -> Failure {
    let (app, version) = (errand.app.as_str(), errand.version.as_str());
    tracing::debug!(app, version, %error, "The owner's own cell gave no answer");
    match error {
        HopError::ConnectFailed { .. } | HopError::ConnectionLost(_) => Failure::Cordoned { retry_after: SOON },
        HopError::TimedOut(_) => Failure::Capacity { reason: "the app's own process does not answer" },
        HopError::InvalidResponse(error) => Failure::Internal { message: error.to_string() },
    }
}

// === impl Errand ===

impl Errand {
    /// Takes the errand out of a request's headers.
    pub(super) fn take(request: &mut Request) -> Option<Self> {
        let errand = std::str::from_utf8(request.headers.get(HOP_HEADER)?).ok().and_then(Self::parse);
        request.headers.remove(HOP_HEADER);
        errand
    }

    /// `NAME VERSION`
    fn parse(text: &str) -> Option<Self> {
        let (app, version) = text.split_once(' ')?;
        (!version.contains(' ')).then(|| Self { app: AppName::new(app), version: VersionName::new(version) })
    }
}

impl std::fmt::Display for Errand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.app, self.version)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn errands_survive_the_way() {
        let errand = Errand { app: AppName::new("@scope/shop"), version: VersionName::new("1.2.3-a+b") };
        assert_eq!(Errand::parse(&errand.to_string()), Some(errand));
        for bad in ["", "shop", "shop 1.0.0 x"] {
            assert_eq!(Errand::parse(bad), None, "{bad:?}");
        }
    }
}
