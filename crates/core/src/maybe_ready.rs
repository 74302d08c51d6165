//! A result that is either there already or still to be awaited.

use std::future::Future;

/// How far a call has come when it returns. Most requests are answered by then: no future is boxed or kept for them.
#[must_use]
pub enum MaybeReady<T, F> {
    Ready(T),
    /// Usually a future. For a request, dropping it before it is ready means that the client went away: the handler's
    /// pending work is cancelled.
    Pending(F),
}

impl<T, F> MaybeReady<T, F> {
    /// Changes the value that is there; what is pending stays as it is.
    #[inline]
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> MaybeReady<U, F> {
        match self {
            Self::Ready(value) => MaybeReady::Ready(change(value)),
            Self::Pending(pending) => MaybeReady::Pending(pending),
        }
    }

    /// Changes what is pending; a value that is there stays as it is.
    #[inline]
    pub fn map_pending<G>(self, change: impl FnOnce(F) -> G) -> MaybeReady<T, G> {
        match self {
            Self::Ready(value) => MaybeReady::Ready(value),
            Self::Pending(pending) => MaybeReady::Pending(change(pending)),
        }
    }
}

impl<T, F: Future<Output = T>> MaybeReady<T, F> {
    /// The value, awaited if it is not there yet.
    pub async fn wait(self) -> T {
        match self {
            Self::Ready(value) => value,
            Self::Pending(pending) => pending.await,
        }
    }
}
