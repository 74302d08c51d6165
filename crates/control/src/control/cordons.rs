//! Cordons by the operator, and the task that saves all cordons in the store. A response about a cordon is sent only after
//! the cordon is saved.

use std::sync::Arc;

use hearth_core::Owner;
use hearth_store::{Cordon, Cordons, SqliteStore};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::{ActionError, Control, blocking};
use hearth_supervisor::{CordonReason, CordonView, Release};

/// Saves the cordons, in the order of their changes. Clones share the task.
#[derive(Clone)]
pub(crate) struct CordonSaver(mpsc::UnboundedSender<SaveOrder>);

enum SaveOrder {
    Save(Vec<Cordon>),
    /// Completes when all earlier orders are written.
    Flush(oneshot::Sender<()>),
}

impl CordonSaver {
    /// Spawns the task, which ends when all clones are dropped.
    pub(crate) fn spawn(store: Arc<SqliteStore>) -> Self {
        let (orders, inbox) = mpsc::unbounded_channel();
        tokio::spawn(write(store, inbox));
        Self(orders)
    }

    /// Saves in the background.
    pub(crate) fn save(&self, all: Vec<Cordon>) {
        // The task lives as long as `self`.
        let _ = self.0.send(SaveOrder::Save(all));
    }

    /// Completes when the last change is saved, or has failed to be.
    pub(crate) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        let _ = self.0.send(SaveOrder::Flush(done));
        let _ = flushed.await;
    }
}

async fn write(store: Arc<SqliteStore>, mut inbox: mpsc::UnboundedReceiver<SaveOrder>) {
    while let Some(order) = inbox.recv().await {
        match order {
            SaveOrder::Save(all) => {
                let store = store.clone();
                let kept = blocking(move || store.keep_cordons(&all)).await;
                if let Err(error) = kept.and_then(|kept| kept.map_err(ActionError::from)) {
                    tracing::error!(%error, "cordons not saved: they will be lost after a restart");
                }
            }
            SaveOrder::Flush(done) => {
                // The caller may have given up.
                let _ = done.send(());
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CordonError {
    #[error("there is no owner {0}: nothing that is served belongs to it")]
    NoOwner(String),
    #[error("{0} has no cell of its own")]
    NotCordoned(String),
    #[error("{0} has a cell of its own because a manifest of its says `isolation: process`: change that")]
    Manifest(String),
    #[error("{0} has a cell of its own because the configuration says `isolate_owners: true`: change that")]
    Configuration(String),
}

impl Control {
    pub(super) async fn cordons(&self) -> Result<Vec<CordonView>, ActionError> {
        let all = self.shared.cells.cordons().await?;
        self.shared.cordons.flush().await;
        Ok(all)
    }

    /// Gives an owner a cell of its own, until it is released.
    pub(super) async fn cordon(&self, owner: String) -> Result<Value, ActionError> {
        if !self.catalogue().versions.iter().any(|version| version.spec.owner.as_str() == owner) {
            return Err(CordonError::NoOwner(owner).into());
        }
        self.shared.cells.cordon(Owner::new(owner.as_str())).await?;
        self.shared.cordons.flush().await;
        Ok(json!({ "owner": owner, "cordoned": true }))
    }

    /// Lets the main cells serve an owner again.
    pub(super) async fn release(&self, owner: String) -> Result<Value, ActionError> {
        let released = self.shared.cells.release(Owner::new(owner.as_str())).await?;
        self.shared.cordons.flush().await;
        match released {
            Release::Released => Ok(json!({ "owner": owner, "cordoned": false })),
            Release::NotCordoned => Err(CordonError::NotCordoned(owner).into()),
            Release::Configured(CordonReason::Configuration) => Err(CordonError::Configuration(owner).into()),
            Release::Configured(_) => Err(CordonError::Manifest(owner).into()),
        }
    }
}
