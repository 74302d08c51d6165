//! How a request fails, as causes. The gateway alone turns a cause into a status code and a body.

use std::fmt;
use std::time::Duration;

use crate::limits::LimitKind;
use crate::module::ModuleError;
use crate::units::ByteSize;

/// Why a request got no response from the app.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// No app is served at that address.
    #[error("there is no app here")]
    NoApp,
    /// The app has no version in the requested range.
    #[error("{app} has no version that fits {range}")]
    NoVersion { app: String, range: String },
    /// What follows the @ is no range of versions.
    #[error("{message}")]
    BadRange { message: String },
    /// The app's dependencies are being installed.
    #[error("the app's dependencies are being installed: try again in a few seconds")]
    Installing,
    /// A file that does not exist, or is not served.
    #[error("there is nothing here")]
    NotFound,
    #[error("{method} is not possible here: use {allow}")]
    MethodNotAllowed { method: String, allow: &'static str },
    /// The app asks for a token, and none of its own came.
    #[error("this app needs one of its tokens: send it as Authorization: Bearer TOKEN")]
    Unauthorized,
    /// More requests than the app or the server takes from one client.
    #[error("too many requests: try again in {} seconds", seconds(*retry_after))]
    RateLimited { retry_after: Duration },
    /// The app's modules export no handler for this event.
    #[error("the app exports no {event} handler")]
    NoHandler { event: &'static str },
    /// The app could not be loaded: resolved, compiled or evaluated.
    #[error("the app failed to load: {0}")]
    Load(LoadFailure),
    /// The handler threw, rejected, or answered with something that is no response. The text is the app's own.
    #[error("the app failed: {message}")]
    App { message: String },
    #[error(transparent)]
    Limit(#[from] LimitExceeded),
    /// Another request of the same worker hit a limit, and the isolate was destroyed.
    #[error("the worker was destroyed because another request of it hit a limit: {0}")]
    Collateral(LimitExceeded),
    /// A turn of JavaScript continues although it was terminated.
    #[error("the app is stuck in a turn that ignores termination")]
    Stuck,
    /// No worker is free, and the queue is full or the wait was too long.
    #[error("no capacity: {reason}")]
    Capacity { reason: &'static str },
    /// The app has a process of its own, which has crashed and was not restarted yet.
    #[error(
        "the app's own process went down: try again in {} seconds; a new version of the app, or `hearth cordon release OWNER`, \
         starts it at once",
        seconds(*retry_after)
    )]
    Cordoned { retry_after: Duration },
    /// The server is shutting down.
    #[error("the server is shutting down")]
    Draining,
    /// A fault of Hearth: an invariant does not hold.
    #[error("internal error: {message}")]
    Internal { message: String },
}

/// Rounded up: a client that retries too early is only rejected again.
fn seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

/// Why an app could not be loaded.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LoadFailure {
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// A module threw when it was compiled, linked or evaluated. The text is the app's own, with a mapped stack.
    #[error("{message}")]
    Threw { message: String },
    #[error("a top-level await never settled")]
    NeverSettled,
}

/// A limit, and how far it was exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    pub kind: LimitKind,
    pub used: Amount,
    pub limit: Amount,
}

/// Time or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    Time(Duration),
    Memory(ByteSize),
}

impl LimitExceeded {
    pub fn time(kind: LimitKind, used: Duration, limit: Duration) -> Self {
        Self { kind, used: Amount::Time(used), limit: Amount::Time(limit) }
    }

    pub fn memory(kind: LimitKind, used: ByteSize, limit: ByteSize) -> Self {
        Self { kind, used: Amount::Memory(used), limit: Amount::Memory(limit) }
    }
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, used, limit } = self;
        write!(f, "{kind} limit exceeded: used {used} of {limit}; raise it with {}", kind.setting())
    }
}

impl std::error::Error for LimitExceeded {}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(time) if time.as_secs() >= 1 => write!(f, "{:.1}s", time.as_secs_f64()),
            Self::Time(time) => write!(f, "{}ms", time.as_millis()),
            Self::Memory(size) => write!(f, "{size}"),
        }
    }
}
