//! One sandbox: its first process, and its limits. A task watches the process: whatever ends it, its groups are then removed.
//!
//! States: `Alive -> Gone`.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hearth_core::ByteSize;
use hearth_jail::sandbox::cgroup::SandboxCgroups;
use rustix::process::{Signal, pidfd_send_signal};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;

use crate::driver::{BoxFuture, DestroyError, Instance, Usage};

/// The kernel lets go of a group a moment after its last process.
const MOMENT: Duration = Duration::from_millis(2);
const MOMENTS: u32 = 500;

pub(in crate::drivers) struct ProcessInstance {
    process: Arc<Receiver>,
    groups: SandboxCgroups,
    state: watch::Receiver<State>,
    /// Another program goes on with it.
    left: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Alive,
    /// With what could not be removed, if anything.
    Gone {
        clean: bool,
    },
}

impl ProcessInstance {
    /// On the current runtime. `process` is a descriptor of the first process.
    pub(in crate::drivers) fn new(process: OwnedFd, groups: SandboxCgroups) -> io::Result<Self> {
        // Not a pipe: but all that is asked of it is to wait until it can be read from.
        let process = Arc::new(Receiver::from_owned_fd_unchecked(process)?);
        let (sender, state) = watch::channel(State::Alive);
        tokio::spawn(watch_over(process.clone(), groups.clone(), sender));
        Ok(Self { process, groups, state, left: AtomicBool::new(false) })
    }

    /// The first process once more, for another program: it is not killed when this is dropped.
    pub(super) fn leave(&self) -> io::Result<OwnedFd> {
        let process = self.process.as_fd().try_clone_to_owned()?;
        self.left.store(true, Ordering::Relaxed);
        Ok(process)
    }

    fn kill(&self) {
        // It may be gone already.
        let _ = pidfd_send_signal(self.process.as_fd(), Signal::KILL);
    }
}

/// A process's descriptor can be read from when the process has ended; by then all others of its sandbox have, too.
async fn watch_over(process: Arc<Receiver>, groups: SandboxCgroups, state: watch::Sender<State>) {
    // An error means that the runtime ends; the next server sweeps.
    let _ended = process.readable().await;
    let mut left = MOMENTS;
    groups.remove();
    while groups.exist() && left > 0 {
        tokio::time::sleep(MOMENT).await;
        groups.remove();
        left -= 1;
    }
    state.send_replace(State::Gone { clean: !groups.exist() });
}

impl Instance for ProcessInstance {
    fn is_alive(&self) -> bool {
        *self.state.borrow() == State::Alive
    }

    fn usage(&self) -> Usage {
        let usage = self.groups.usage();
        Usage { memory: usage.memory.map(ByteSize), processes: usage.processes, cpu: usage.cpu }
    }

    fn killed_for_memory(&self) -> Option<u64> {
        self.groups.oom_kills()
    }

    fn destroy(&self) -> BoxFuture<'_, Result<(), DestroyError>> {
        Box::pin(async {
            self.kill();
            let mut state = self.state.clone();
            let gone = state.wait_for(|state| *state != State::Alive).await.map(|state| *state);
            match gone {
                Ok(State::Gone { clean: false }) => {
                    Err(DestroyError { reason: "its control groups cannot be removed".to_owned() })
                }
                _ => Ok(()),
            }
        })
    }
}

impl Drop for ProcessInstance {
    fn drop(&mut self) {
        if !self.left.load(Ordering::Relaxed) {
            self.kill();
        }
    }
}
