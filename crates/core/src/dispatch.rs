//! The seam between the HTTP front and whatever runs apps.

use std::future::Future;

use crate::failure::Failure;
use crate::http::{Request, Response};
use crate::units::ByteSize;

/// Answers requests. The response's head is the answer; its body goes on by itself. Dropping it before its end means that
/// the client went away: the stream behind it is cancelled.
pub trait Dispatch: Send + Sync + 'static {
    fn dispatch(&self, request: Request) -> Dispatched<impl Future<Output = Result<Response, Failure>> + Send>;

    /// The longest body that a request for this url may have, where that is less than what the server takes.
    /// Asked only for requests that have a body, before any of it is read.
    fn body_limit(&self, url: &str) -> Option<ByteSize> {
        let _ = url;
        None
    }
}

/// How far a request has come when it was handed over. Most are answered by then, and nothing is kept for them.
pub enum Dispatched<F> {
    Answered(Result<Response, Failure>),
    /// Dropping it before it is ready means that the client went away: the handler's pending work is cancelled.
    Coming(F),
}

impl<F: Future<Output = Result<Response, Failure>>> Dispatched<F> {
    pub async fn answer(self) -> Result<Response, Failure> {
        match self {
            Self::Answered(answer) => answer,
            Self::Coming(answer) => answer.await,
        }
    }
}
