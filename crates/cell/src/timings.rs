//! How long requests of an app waited, and how long its workers took to start.

use hearth_ipc::Histogram;

#[derive(Debug, Default)]
pub struct Timings {
    /// Of requests that waited in their owner's queue.
    pub queue_wait: Histogram,
    /// From the decision to start a worker until its modules are evaluated.
    pub cold_start: Histogram,
}
