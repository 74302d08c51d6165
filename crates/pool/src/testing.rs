//! For tests: futures that are polled by hand, so that a test decides who goes when. No test waits for real time.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A future that somebody holds. Dropping it is cancelling it.
pub(crate) struct Held<T>(Pin<Box<dyn Future<Output = T>>>);

impl<T: 'static> Held<T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'static) -> Self {
        // Tokio's budget is for tasks that keep their thread from others; here it would look like a lost wake-up.
        Self(Box::pin(tokio::task::unconstrained(future)))
    }

    /// Begun, and not done.
    pub(crate) fn pending(future: impl Future<Output = T> + 'static) -> Self {
        let mut held = Self::new(future);
        assert!(held.poll().is_none(), "it was expected to wait");
        held
    }

    pub(crate) fn poll(&mut self) -> Option<T> {
        match self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }
}

/// Lets all tasks run that can.
pub(crate) async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}
