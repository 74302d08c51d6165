//! The seam between the HTTP front and whatever runs apps.

use std::future::Future;

use crate::failure::Failure;
use crate::http::{Request, Response};
use crate::units::ByteSize;

/// Answers requests. The response's head ends the future; its body goes on by itself.
///
/// Dropping the future before it is ready means that the client went away: the handler's pending work is cancelled.
/// Dropping the response's body before its end means the same for the stream behind it.
pub trait Dispatch: Send + Sync + 'static {
    fn dispatch(&self, request: Request) -> impl Future<Output = Result<Response, Failure>> + Send;

    /// The longest body that a request for this url may have, where that is less than what the server takes.
    /// Asked only for requests that have a body, before any of it is read.
    fn body_limit(&self, url: &str) -> Option<ByteSize> {
        let _ = url;
        None
    }
}
