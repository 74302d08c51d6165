//! A deadline that costs almost nothing while it keeps moving. The runtime's timer is made when the deadline is first polled, and
//! is not touched when the deadline moves away: it fires at the old time, too early, and is then reset.
//! Invariant: a deadline belongs to one task. Its waker is registered when the timer is set and stays until it fires.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep_until};

#[derive(Debug, Default)]
pub struct LazyDeadline {
    deadline: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl LazyDeadline {
    /// The event that was waited for has come.
    pub fn stop(&mut self) {
        self.deadline = None;
    }

    /// Brings the deadline forward to `timeout` from now, where it is later or not set.
    pub fn shorten(&mut self, timeout: Duration) {
        let latest = Instant::now() + timeout;
        if self.deadline.is_none_or(|deadline| deadline > latest) {
            self.deadline = Some(latest);
        }
    }

    /// Ready when `timeout` has passed since the first poll after the last stop; never for a timeout of zero.
    pub fn poll(&mut self, cx: &mut Context<'_>, timeout: Duration, now: impl FnOnce() -> Instant) -> Poll<()> {
        if timeout.is_zero() {
            return Poll::Pending;
        }
        let deadline = *self.deadline.get_or_insert_with(|| now() + timeout);
        match &mut self.sleep {
            Some(sleep) if !sleep.is_elapsed() && sleep.deadline() <= deadline => return Poll::Pending,
            Some(sleep) if Instant::now() < deadline => sleep.as_mut().reset(deadline),
            Some(_) => return Poll::Ready(()),
            none => *none = Some(Box::pin(sleep_until(deadline))),
        }
        let Some(sleep) = &mut self.sleep else { return Poll::Pending };
        // Not subject to the task's budget: a poll that the budget defers would register no waker.
        pin!(unconstrained(sleep.as_mut())).poll(cx)
    }
}
