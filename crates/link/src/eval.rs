//! Code that is to be run once in an isolate, and what came of it: the same as of a command in a sandbox.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The app, and its owner, as which such code runs. No app and no owner can be called that: names have no spaces.
pub const EVALUATED: &str = "evaluated code";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvalRequest {
    /// A module.
    pub code: String,
    pub env: Vec<(String, String)>,
    pub timeout: Duration,
    /// Bytes that are kept of each of its two streams.
    pub output_limit: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EvalOutcome {
    Ended {
        /// None where it did not end by itself.
        exit_code: Option<i32>,
        stdout: String,
        stderr: String,
        truncated: bool,
        timed_out: bool,
        duration: Duration,
    },
    /// It was not run.
    Refused { message: String },
}
