//! How many requests an app handles at once, and who waits. A request holds its place until the end of its response's
//! body; one that finds no place waits in line, first come first served, but neither in a long line nor for long.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream, Failure, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(crate) struct Admission {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    queue: usize,
    patience: Duration,
}

/// A place; free again when dropped.
pub(crate) struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Admission {
    pub(crate) fn new(places: usize, queue: usize, patience: Duration) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
            waiting: AtomicUsize::new(0),
            queue,
            patience,
        }
    }

    pub(crate) async fn admit(&self) -> Result<Place, Failure> {
        if let Ok(permit) = self.places.clone().try_acquire_owned() {
            return Ok(Place { _permit: permit });
        }
        let _line = self.line_up()?;
        match tokio::time::timeout(self.patience, self.places.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Place { _permit: permit }),
            Ok(Err(_)) => Err(Failure::Draining),
            Err(_) => Err(Failure::Capacity { reason: "waited too long in the app's queue" }),
        }
    }

    fn line_up(&self) -> Result<InLine<'_>, Failure> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let line = InLine(&self.waiting);
        if before >= self.queue {
            return Err(Failure::Capacity { reason: "the app's queue is full" });
        }
        Ok(line)
    }
}

struct InLine<'a>(&'a AtomicUsize);

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Place {
    /// Holds the place for as long as the response's body goes on.
    pub(crate) fn keep(self, mut response: Response) -> Response {
        if let Body::Stream(stream) = response.body {
            response.body = Body::Stream(Box::new(Placed { stream, _place: self }));
        }
        response
    }
}

struct Placed {
    stream: Box<dyn ByteStream>,
    _place: Place,
}

impl ByteStream for Placed {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.stream.poll_next(cx)
    }

    fn remaining(&self) -> Option<u64> {
        self.stream.remaining()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_place_waits_and_then_is_refused() {
        let admission = Arc::new(Admission::new(1, 1, Duration::from_secs(5)));
        let place = admission.admit().await.unwrap();
        let second = tokio::spawn({
            let admission = admission.clone();
            async move { admission.admit().await.map(drop) }
        });
        tokio::task::yield_now().await;
        assert!(matches!(admission.admit().await, Err(Failure::Capacity { .. })), "the queue holds one");
        drop(place);
        assert!(second.await.unwrap().is_ok());

        let _place = admission.admit().await.unwrap();
        assert!(matches!(admission.admit().await, Err(Failure::Capacity { reason }) if reason.contains("too long")));
    }
}
