//! Threads for pinned workers: each runs a single-threaded tokio runtime and enters the isolates that were made on it, alone
//! and so with warm caches. Others leave their requests at its desk. A long turn holds up all workers of its thread, but no
//! connection.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hearth_runtime::{Mailbox, THREAD_STACK, ThreadPolicy, TurnPools};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{OnceCell, watch};

/// Started when the first pinned worker needs one.
pub(crate) struct PinnedThreads {
    count: usize,
    threads: OnceCell<Vec<Arc<PinnedThread>>>,
    /// The threads end when it is dropped.
    life: watch::Sender<()>,
}

pub(crate) struct PinnedThread {
    handle: Handle,
    desk: Arc<Mailbox>,
    workers: AtomicUsize,
}

/// One worker more on a thread, until dropped.
pub(crate) struct Pinned {
    thread: Arc<PinnedThread>,
}

impl PinnedThreads {
    pub(crate) fn new(count: usize) -> Self {
        Self { count: count.max(1), threads: OnceCell::new(), life: watch::Sender::new(()) }
    }

    fn start(&self) -> io::Result<Vec<Arc<PinnedThread>>> {
        let mut threads = Vec::with_capacity(self.count);
        for index in 0..self.count {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (handle, desk) = (runtime.handle().clone(), Mailbox::new());
            threads.push(Arc::new(PinnedThread { handle, desk: desk.clone(), workers: AtomicUsize::new(0) }));
            let mut alive = self.life.subscribe();
            std::thread::Builder::new().name(format!("hearth-pinned-{index}")).stack_size(THREAD_STACK).spawn(
                move || {
                    runtime.block_on(async {
                        tokio::select! {
                            biased;
                            () = desk.serve() => {}
                            // Nothing is ever sent: this ends when the sender is gone.
                            _ = alive.changed() => {}
                        }
                    });
                    desk.close();
                    runtime.shutdown_background();
                },
            )?;
        }
        Ok(threads)
    }

    /// The thread with the fewest workers.
    pub(crate) async fn settle(&self) -> io::Result<Pinned> {
        let threads = self.threads.get_or_try_init(|| async { self.start() }).await?;
        let thread = threads
            .iter()
            .min_by_key(|thread| thread.workers.load(Ordering::Relaxed))
            .expect("there is at least one thread")
            .clone();
        thread.workers.fetch_add(1, Ordering::Relaxed);
        Ok(Pinned { thread })
    }
}

impl Pinned {
    pub(crate) fn handle(&self) -> &Handle {
        &self.thread.handle
    }

    pub(crate) fn place(&self, lane: TurnPools) -> ThreadPolicy {
        ThreadPolicy::Pinned(self.thread.desk.clone(), lane)
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.thread.workers.fetch_sub(1, Ordering::Relaxed);
    }
}
