//! For tests: futures that are polled by hand, so that a test decides the order of events. No test waits for real time.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A future that a test polls. Dropping it cancels it.
pub(crate) struct Polled<T>(Pin<Box<dyn Future<Output = T>>>);

impl<T: 'static> Polled<T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'static) -> Self {
        // Without `unconstrained`, an exhausted cooperative budget would look like a lost wake-up.
        Self(Box::pin(tokio::task::unconstrained(future)))
    }

    /// Polled once, and not ready.
    pub(crate) fn pending(future: impl Future<Output = T> + 'static) -> Self {
        let mut polled = Self::new(future);
        assert!(polled.poll().is_none(), "the future was expected to wait");
        polled
    }

    pub(crate) fn poll(&mut self) -> Option<T> {
        match self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }
}

/// Lets all tasks run that are ready.
pub(crate) async fn run_ready_tasks() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}
