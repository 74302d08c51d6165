//! Threads for pinned workers: each runs a single-threaded tokio runtime and is the only thread that enters the isolates that
//! were made on it, so its caches are warm. Other threads put requests into its mailbox. A long turn delays all workers of its
//! thread, but no connection.

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
    alive: watch::Sender<()>,
}

pub(crate) struct PinnedThread {
    handle: Handle,
    mailbox: Arc<Mailbox>,
    workers: AtomicUsize,
}

/// Counts one more worker on a thread, until dropped.
pub(crate) struct ThreadAssignment {
    thread: Arc<PinnedThread>,
}

impl PinnedThreads {
    pub(crate) fn new(count: usize) -> Self {
        Self { count: count.max(1), threads: OnceCell::new(), alive: watch::Sender::new(()) }
    }

    fn start(&self) -> io::Result<Vec<Arc<PinnedThread>>> {
        let mut threads = Vec::with_capacity(self.count);
        for index in 0..self.count {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (handle, mailbox) = (runtime.handle().clone(), Mailbox::new());
            threads.push(Arc::new(PinnedThread { handle, mailbox: mailbox.clone(), workers: AtomicUsize::new(0) }));
            let mut alive = self.alive.subscribe();
            std::thread::Builder::new().name(format!("hearth-pinned-{index}")).stack_size(THREAD_STACK).spawn(
                move || {
                    runtime.block_on(async {
                        tokio::select! {
                            biased;
                            () = mailbox.serve() => {}
                            // Nothing is ever sent: this ends when the sender is gone.
                            _ = alive.changed() => {}
                        }
                    });
                    mailbox.close();
                    runtime.shutdown_background();
                },
            )?;
        }
        Ok(threads)
    }

    /// The thread with the fewest workers.
    pub(crate) async fn assign(&self) -> io::Result<ThreadAssignment> {
        let threads = self.threads.get_or_try_init(|| async { self.start() }).await?;
        let thread = threads
            .iter()
            .min_by_key(|thread| thread.workers.load(Ordering::Relaxed))
            .expect("there is at least one thread")
            .clone();
        thread.workers.fetch_add(1, Ordering::Relaxed);
        Ok(ThreadAssignment { thread })
    }
}

impl ThreadAssignment {
    pub(crate) fn handle(&self) -> &Handle {
        &self.thread.handle
    }

    pub(crate) fn place(&self, turn_pools: TurnPools) -> ThreadPolicy {
        ThreadPolicy::Pinned(self.thread.mailbox.clone(), turn_pools)
    }
}

impl Drop for ThreadAssignment {
    fn drop(&mut self) {
        self.thread.workers.fetch_sub(1, Ordering::Relaxed);
    }
}
