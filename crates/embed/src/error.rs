//! The errors of this crate.

use hearth_cell::TlsRootsError;
use hearth_core::{BodyError, Failure};
use hearth_runtime::PlatformError;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("V8 did not start: {0}")]
    Platform(#[from] PlatformError),
    #[error(transparent)]
    Roots(#[from] TlsRootsError),
    #[error("the threads could not be started: {0}")]
    Threads(#[source] std::io::Error),
    #[error("there is no {what} yet: call {call} first")]
    NotStarted { what: &'static str, call: &'static str },
    #[error("there is a {what} already: {call} is called once")]
    StartedTwice { what: &'static str, call: &'static str },
    /// The script failed, exceeded a limit, or found no free worker.
    #[error(transparent)]
    Failed(#[from] Failure),
    #[error("the response's body broke off: {0}")]
    Body(#[from] BodyError),
    #[error("the event has no response: it was no request")]
    NoResponse,
    /// What the script left running after its reply did not end within its limits.
    #[error("what the script left to be done exceeded its limits; its context is not used again")]
    WaitUntil,
    #[error("the operation panicked")]
    Panicked,
}
