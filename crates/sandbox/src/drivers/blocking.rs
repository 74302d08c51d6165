//! Lets drivers run blocking work, such as starting programs, without blocking their callers.

use std::fmt::Display;
use std::os::unix::net::UnixStream;

use crate::driver::BootError;

/// Runs blocking work on a thread for it. If the caller has gone, the result is dropped, which ends
/// what was started.
pub(super) async fn blocking<T: Send + 'static, E: Display + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, BootError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(|error| BootError { reason: error.to_string() }),
        Err(error) => Err(BootError { reason: error.to_string() }),
    }
}

/// The stream to the agent as an async socket.
pub(super) fn asynchronous(stream: UnixStream) -> Result<tokio::net::UnixStream, BootError> {
    let ready = stream.set_nonblocking(true).and_then(|()| tokio::net::UnixStream::from_std(stream));
    ready.map_err(|error| BootError { reason: format!("the agent's socket cannot be used: {error}") })
}
