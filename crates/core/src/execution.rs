//! The execution modes. A mode is a policy: entering, running and limiting JavaScript is the same for all.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Execution {
    /// `pooled` without V8's own lock: fast and fair, as measured (`docs/design/pools.md`).
    #[default]
    Auto,
    /// Warm workers, entered by the thread that has the request, under V8's own lock.
    Pooled,
    /// Warm workers, each entered by its own thread alone.
    Pinned,
    /// A new isolate for each request, destroyed afterwards.
    Oneshot,
    /// A new context for each request, in a warm isolate of its owner.
    Shared,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an execution mode: use auto, pooled, pinned, oneshot or shared")]
pub struct UnknownExecution(String);

impl Execution {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Pooled => "pooled",
            Self::Pinned => "pinned",
            Self::Oneshot => "oneshot",
            Self::Shared => "shared",
        }
    }
}

impl FromStr for Execution {
    type Err = UnknownExecution;

    fn from_str(text: &str) -> Result<Self, UnknownExecution> {
        [Self::Auto, Self::Pooled, Self::Pinned, Self::Oneshot, Self::Shared]
            .into_iter()
            .find(|execution| execution.as_str() == text)
            .ok_or_else(|| UnknownExecution(text.to_owned()))
    }
}

impl fmt::Display for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
