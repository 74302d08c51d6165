//! Code that is run once in an isolate, and its outcome, which has the fields of a sandbox command's outcome.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The app name and owner under which such code runs. Names of apps and owners have no spaces, so it cannot clash with one.
pub const EVALUATED: &str = "evaluated code";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvalRequest {
    /// The source of an ES module.
    pub code: String,
    pub env: Vec<(String, String)>,
    pub timeout: Duration,
    /// Bytes that are kept of stdout, and of stderr.
    pub output_limit: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EvalOutcome {
    Ended {
        /// `None` if the code did not end by itself.
        exit_code: Option<i32>,
        stdout: String,
        stderr: String,
        truncated: bool,
        timed_out: bool,
        duration: Duration,
    },
    /// The code was not run.
    Refused { message: String },
}
