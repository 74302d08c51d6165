//! The interface between the HTTP gateway and the component that runs apps.

use std::future::Future;

use crate::failure::Failure;
use crate::http::{Request, Response};
use crate::maybe_ready::MaybeReady;
use crate::units::ByteSize;

/// What a handler makes of a request.
pub type DispatchResult = Result<Response, Failure>;

/// Answers requests. A response is handed over when its head is known; its body follows by itself. Dropping the body before
/// its end means that the client went away: the stream behind it is cancelled.
pub trait Dispatch: Send + Sync + 'static {
    fn dispatch(&self, request: Request) -> MaybeReady<DispatchResult, impl Future<Output = DispatchResult> + Send>;

    /// The longest body that a request for this url may have, where that is less than what the server takes.
    /// Asked only for requests that have a body, before any of it is read.
    fn body_limit(&self, url: &str) -> Option<ByteSize> {
        let _ = url;
        None
    }
}
