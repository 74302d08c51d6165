//! How much of what is there a server knows that has just begun. Until it knows, nobody is told that something is not there:
//! who asks for it waits a little, and is asked to come again where that is not enough.
//!
//! `Nothing -> Apps -> Everything`, in this order, once.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// Nobody who asks waits longer: who waits does not learn why it takes so long.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
    Nothing,
    /// And their owners: the first look is over, and what it found is served.
    Apps,
    /// Sandboxes, too.
    Everything,
}

/// It does not know yet.
#[derive(Debug, thiserror::Error)]
#[error("the server has just begun, and does not know yet what there is: try again, and see its log if that goes on")]
pub struct Starting;

pub(crate) struct Knowledge(watch::Sender<Known>);

impl Default for Knowledge {
    fn default() -> Self {
        Self(watch::Sender::new(Known::Nothing))
    }
}

impl Knowledge {
    pub(super) fn note(&self, known: Known) {
        self.0.send_replace(known);
    }

    pub(super) async fn wait_for(&self, wanted: Known) -> Result<(), Starting> {
        let mut known = self.0.subscribe();
        match timeout(PATIENCE, known.wait_for(|known| *known >= wanted)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Starting),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_asks_early_waits_until_it_is_known_but_not_for_ever() {
        let knowledge = Knowledge::default();
        assert!(knowledge.wait_for(Known::Nothing).await.is_ok());
        assert!(knowledge.wait_for(Known::Apps).await.is_err());
        let later = async {
            tokio::time::sleep(PATIENCE / 2).await;
            knowledge.note(Known::Apps);
        };
        assert!(tokio::join!(knowledge.wait_for(Known::Apps), later).0.is_ok());
        assert!(knowledge.wait_for(Known::Everything).await.is_err());
        knowledge.note(Known::Everything);
        assert!(knowledge.wait_for(Known::Apps).await.is_ok());
    }
}
