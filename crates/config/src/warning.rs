//! Warnings: values that are valid but were adjusted. Shown once in the log and with the app.

use std::time::Duration;

use crate::error::SourceLocation;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{notice}")]
pub struct Warning {
    pub place: SourceLocation,
    pub notice: WarningKind,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WarningKind {
    #[error("{value} is beyond the operator's ceiling: {ceiling} is used")]
    Capped { value: String, ceiling: String },
    #[error("idleTimeout ({idle:?}) is longer than ttl ({ttl:?}): {ttl:?} is used")]
    IdleAboveTtl { idle: Duration, ttl: Duration },
    #[error("kept from the app, because such names often hold secrets (use `hearth secrets set`): {}", names.join(", "))]
    Sensitive { names: Vec<String> },
    #[error(
        "ignored, because the app was uploaded: its owner is the uploader, unless apps.NAME.owner in hearth.yaml says otherwise"
    )]
    UploadedOwner,
    #[error("ignored, because the app was uploaded: host names need a grant, apps.NAME.hosts in hearth.yaml")]
    UploadedHosts,
    #[error("its name and version are not used: {0}")]
    Package(String),
}
