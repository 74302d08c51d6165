//! Owners with a cell of their own, as the operator wants it, and the record of those who are shut away, which outlives the
//! server: what anybody was told of them is kept.

use std::sync::Arc;

use hearth_core::Owner;
use hearth_store::{Cordon, Cordons, SqliteStore};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::{ActionError, Control, blocking};
use hearth_supervisor::{CordonReason, CordonView, Release};

/// Has the record written, in the order in which it changes. Clones are the same.
#[derive(Clone)]
pub(crate) struct CordonRecord(mpsc::UnboundedSender<Order>);

enum Order {
    Keep(Vec<Cordon>),
    /// Told when all that came before has been written.
    Settle(oneshot::Sender<()>),
}

impl CordonRecord {
    /// On the current runtime, for as long as anybody has it.
    pub(crate) fn of(store: Arc<SqliteStore>) -> Self {
        let (orders, inbox) = mpsc::unbounded_channel();
        tokio::spawn(write(store, inbox));
        Self(orders)
    }

    /// Does not wait.
    pub(crate) fn keep(&self, all: Vec<Cordon>) {
        // Whoever writes is there as long as this.
        let _ = self.0.send(Order::Keep(all));
    }

    /// Ready when the last change is kept, or cannot be.
    pub(crate) async fn settle(&self) {
        let (done, settled) = oneshot::channel();
        let _ = self.0.send(Order::Settle(done));
        let _ = settled.await;
    }
}

async fn write(store: Arc<SqliteStore>, mut inbox: mpsc::UnboundedReceiver<Order>) {
    while let Some(order) = inbox.recv().await {
        match order {
            Order::Keep(all) => {
                let store = store.clone();
                let kept = blocking(move || store.keep_cordons(&all)).await;
                if let Err(error) = kept.and_then(|kept| kept.map_err(ActionError::from)) {
                    tracing::error!(%error, "Who has a cell of its own is not known after a restart");
                }
            }
            Order::Settle(done) => {
                // Who does not wait for it any more need not be told.
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
    NotShutAway(String),
    #[error("{0} has a cell of its own because a manifest of its says `isolation: process`: change that")]
    Manifest(String),
    #[error("{0} has a cell of its own because the configuration says `isolate_owners: true`: change that")]
    Configuration(String),
}

impl Control {
    pub(super) async fn cordons(&self) -> Result<Vec<CordonView>, ActionError> {
        let all = self.shared.cells.cordons().await?;
        self.shared.cordons.settle().await;
        Ok(all)
    }

    /// Gives it a cell of its own, until it is released.
    pub(super) async fn cordon(&self, owner: String) -> Result<Value, ActionError> {
        if !self.catalogue().versions.iter().any(|version| version.spec.owner.as_str() == owner) {
            return Err(CordonError::NoOwner(owner).into());
        }
        self.shared.cells.cordon(Owner::new(owner.as_str())).await?;
        self.shared.cordons.settle().await;
        Ok(json!({ "owner": owner, "cordoned": true }))
    }

    /// Has the same cells serve it as everybody else.
    pub(super) async fn release(&self, owner: String) -> Result<Value, ActionError> {
        let released = self.shared.cells.release(Owner::new(owner.as_str())).await?;
        self.shared.cordons.settle().await;
        match released {
            Release::Released => Ok(json!({ "owner": owner, "cordoned": false })),
            Release::NotCordoned => Err(CordonError::NotShutAway(owner).into()),
            Release::Configured(CordonReason::Configuration) => Err(CordonError::Configuration(owner).into()),
            Release::Configured(_) => Err(CordonError::Manifest(owner).into()),
        }
    }
}
