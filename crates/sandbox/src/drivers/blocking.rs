//! Between drivers that start other people's programs, which blocks, and their callers, who must not wait.

use std::fmt::Display;
use std::os::unix::net::UnixStream;

use crate::driver::BootError;

/// Runs what blocks where that may be done. What it made is dropped, and so ended, when nobody waits for it any more.
pub(super) async fn blocking<T: Send + 'static, E: Display + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, BootError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(|error| BootError { reason: error.to_string() }),
        Err(error) => Err(BootError { reason: error.to_string() }),
    }
}

/// The agent's end of a socket pair, as the client of the agent wants it.
pub(super) fn asynchronous(stream: UnixStream) -> Result<tokio::net::UnixStream, BootError> {
    let ready = stream.set_nonblocking(true).and_then(|()| tokio::net::UnixStream::from_std(stream));
    ready.map_err(|error| BootError { reason: format!("the agent's socket cannot be used: {error}") })
}
