//! Owners with a cell of their own, as the operator wants it.

use hearth_core::Owner;
use serde_json::{Value, json};

use super::{ActionError, Control};
use crate::cells::{Release, Why};

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
    /// Gives it a cell of its own, until it is released.
    pub(super) async fn cordon(&self, owner: String) -> Result<Value, ActionError> {
        if !self.catalogue().versions.iter().any(|version| version.spec.owner.as_str() == owner) {
            return Err(CordonError::NoOwner(owner).into());
        }
        self.shared.cells.shut_away(Owner::new(owner.as_str())).await?;
        Ok(json!({ "owner": owner, "cordoned": true }))
    }

    /// Has the same cells serve it as everybody else.
    pub(super) async fn release(&self, owner: String) -> Result<Value, ActionError> {
        match self.shared.cells.release(Owner::new(owner.as_str())).await? {
            Release::Released => Ok(json!({ "owner": owner, "cordoned": false })),
            Release::NotShutAway => Err(CordonError::NotShutAway(owner).into()),
            Release::Meant(Why::Configuration) => Err(CordonError::Configuration(owner).into()),
            Release::Meant(_) => Err(CordonError::Manifest(owner).into()),
        }
    }
}
