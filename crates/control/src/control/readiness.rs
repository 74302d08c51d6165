//! Stages of the start. Until apps and sandboxes are loaded, requests about them wait, so that they are not answered with
//! "not found"; after a timeout they are answered 503.
//!
//! `Started -> AppsServed -> Ready`, in this order, once.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// Time that a request waits for a stage.
const STAGE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadyStage {
    Started,
    /// The first catalogue is served, so apps and owners are known.
    AppsServed,
    /// Sandboxes are known, too.
    Ready,
}

/// The stage was not reached in time.
#[derive(Debug, thiserror::Error)]
#[error("the server has just begun, and does not know yet what there is: try again, and see its log if that goes on")]
pub struct NotReady;

pub(crate) struct Readiness(watch::Sender<ReadyStage>);

impl Default for Readiness {
    fn default() -> Self {
        Self(watch::Sender::new(ReadyStage::Started))
    }
}

impl Readiness {
    pub(super) fn set(&self, stage: ReadyStage) {
        self.0.send_replace(stage);
    }

    pub(super) async fn wait_for(&self, stage: ReadyStage) -> Result<(), NotReady> {
        let mut reached = self.0.subscribe();
        match timeout(STAGE_TIMEOUT, reached.wait_for(|reached| *reached >= stage)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(NotReady),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn early_requests_wait_for_their_stage_up_to_a_timeout() {
        let readiness = Readiness::default();
        assert!(readiness.wait_for(ReadyStage::Started).await.is_ok());
        assert!(readiness.wait_for(ReadyStage::AppsServed).await.is_err());
        let later = async {
            tokio::time::sleep(STAGE_TIMEOUT / 2).await;
            readiness.set(ReadyStage::AppsServed);
        };
        assert!(tokio::join!(readiness.wait_for(ReadyStage::AppsServed), later).0.is_ok());
        assert!(readiness.wait_for(ReadyStage::Ready).await.is_err());
        readiness.set(ReadyStage::Ready);
        assert!(readiness.wait_for(ReadyStage::AppsServed).await.is_ok());
    }
}
