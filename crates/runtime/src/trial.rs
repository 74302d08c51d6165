//! Threads for the turns of apps that nobody knows yet: apart, so that nobody waits behind a turn that proves long, but with the
//! same priority as those of quick apps. Most apps are quick, and one whose first request had the lane's priority would wait for
//! all that is slow.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::cover::Backing;
use crate::platform::THREAD_STACK;

/// Turns at once. Beyond that they run where quick ones do: apps that fill these threads keep no others from their start.
const MOST: usize = 32;
const KEEP: Duration = Duration::from_secs(30);

/// Clones share their threads.
#[derive(Clone)]
pub(crate) struct Trial {
    threads: Handle,
    /// Those that run or are about to.
    under_way: Arc<AtomicUsize>,
}

/// One that runs or is about to.
struct UnderWay(Arc<AtomicUsize>);

impl Trial {
    /// Goes on for as long as the runtime.
    pub(crate) fn start(backing: Backing) -> io::Result<(Runtime, Self)> {
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(MOST)
            .thread_keep_alive(KEEP)
            .thread_stack_size(THREAD_STACK)
            .thread_name("hearth-trial")
            .on_thread_start(move || backing.settle_here())
            .build()?;
        let trial = Self { threads: runtime.handle().clone(), under_way: Arc::default() };
        Ok((runtime, trial))
    }

    pub(crate) fn is_full(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) >= MOST
    }

    pub(crate) fn run(&self, work: impl FnOnce() + Send + 'static) {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        let under_way = UnderWay(self.under_way.clone());
        self.threads.spawn_blocking(move || {
            let _under_way = under_way;
            work();
        });
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::{Weak, mpsc};

    use super::*;

    #[test]
    fn it_is_full_while_all_its_threads_are_held() {
        let (runtime, trial) = Trial::start(Backing { reserve: None, pulse: Weak::new() }).unwrap();
        let (say, said) = mpsc::channel();
        let releases: Vec<mpsc::Sender<()>> = (0..MOST)
            .map(|_| {
                assert!(!trial.is_full());
                let (release, held) = mpsc::channel();
                let say = say.clone();
                trial.run(move || {
                    say.send(()).unwrap();
                    // An error is the other end's drop, which is what it waits for.
                    let _ = held.recv();
                });
                release
            })
            .collect();
        assert!(trial.is_full());
        for _ in 0..MOST {
            said.recv_timeout(Duration::from_secs(60)).expect("they run side by side");
        }
        drop(releases);
        while trial.under_way.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
        runtime.shutdown_background();
    }
}
