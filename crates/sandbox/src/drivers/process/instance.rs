//! One sandbox: its first process, its limits, and what an upgrade hands to the next program. A task
//! watches the first process: when it ends, for whatever reason, the sandbox's control groups are
//! removed.
//!
//! States: `Alive -> Gone`.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hearth_core::ByteSize;
use hearth_sandbox_spawner::cgroup::SandboxCgroups;
use rustix::process::{Signal, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;

use super::process_budget::ProcessShare;
use super::spawner_handle::SpawnerHandle;
use super::uplink;
use crate::driver::{BootError, Booted, BoxFuture, DestroyError, Instance, Usage};
use crate::upgrade::UpgradePayload;

/// Between two attempts to remove the control groups: the kernel releases a group shortly after its
/// last process has ended.
const RETRY_DELAY: Duration = Duration::from_millis(2);
const MAX_RETRIES: u32 = 500;

pub(in crate::drivers) struct ProcessInstance {
    process: Arc<Receiver>,
    groups: SandboxCgroups,
    state: watch::Receiver<State>,
    /// The next program goes on with the process: it is not killed when this is dropped.
    exported: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Alive,
    Gone {
        /// All of its control groups could be removed.
        clean: bool,
    },
}

/// A sandbox of this driver, with what the next program needs to go on with it.
struct TransferableInstance {
    instance: ProcessInstance,
    /// A second descriptor of the stream to the agent.
    agent: OwnedFd,
    driver_state: DriverState,
}

/// What a sandbox holds of the driver's for as long as it lives.
pub(super) struct DriverState {
    pub(super) spawner_handle: Arc<SpawnerHandle>,
    pub(super) share: ProcessShare,
    /// Bytes for its files; 0 if unknown.
    pub(super) disk: u64,
}

/// The saved form of a sandbox of this driver.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedInstance {
    pub(super) spawner: u32,
    /// Processes that the sandbox may have.
    #[serde(default)]
    pub(super) processes: u32,
    #[serde(default)]
    pub(super) disk: u64,
}

/// A sandbox from its descriptors: the stream to its agent, its first process, and the listener of its
/// uplink, if it has one. Both a new sandbox and one of the previous program are made here. On the
/// current runtime.
pub(super) fn from_fds(
    fds: Vec<OwnedFd>,
    groups: SandboxCgroups,
    driver_state: DriverState,
) -> Result<Booted, BootError> {
    let failed = |error: io::Error| BootError { reason: format!("the sandbox's descriptors cannot be used: {error}") };
    let mut fds = fds.into_iter();
    let (Some(agent), Some(process)) = (fds.next(), fds.next()) else {
        return Err(failed(io::ErrorKind::InvalidData.into()));
    };
    let second = agent.try_clone().map_err(failed)?;
    let instance = ProcessInstance::new(process, groups).map_err(failed)?;
    let instance = TransferableInstance { instance, agent: second, driver_state };
    let agent = StdStream::from(agent);
    agent.set_nonblocking(true).map_err(failed)?;
    let agent = UnixStream::from_std(agent).map_err(failed)?;
    let uplink = fds.next().map(uplink::open).transpose().map_err(failed)?;
    Ok(Booted { instance: Box::new(instance), agent: Box::new(agent), uplink })
}

// === impl ProcessInstance ===

impl ProcessInstance {
    /// On the current runtime. `process` is a pidfd of the first process.
    pub(in crate::drivers) fn new(process: OwnedFd, groups: SandboxCgroups) -> io::Result<Self> {
        // A pidfd is no pipe, but `Receiver` is only used to wait until it is readable.
        let process = Arc::new(Receiver::from_owned_fd_unchecked(process)?);
        let (sender, state) = watch::channel(State::Alive);
        tokio::spawn(watch_process(process.clone(), groups.clone(), sender));
        Ok(Self { process, groups, state, exported: AtomicBool::new(false) })
    }

    /// A second pidfd of the first process, for the next program.
    fn export(&self) -> io::Result<OwnedFd> {
        let process = self.process.as_fd().try_clone_to_owned()?;
        self.exported.store(true, Ordering::Relaxed);
        Ok(process)
    }

    fn kill(&self) {
        // Fails where the process has ended already.
        let _ = pidfd_send_signal(self.process.as_fd(), Signal::KILL);
    }
}

/// A pidfd becomes readable when its process has ended; by then all others of the sandbox have, too.
async fn watch_process(process: Arc<Receiver>, groups: SandboxCgroups, state: watch::Sender<State>) {
    // An error means that the runtime ends; the next server sweeps.
    let _ended = process.readable().await;
    let mut retries = MAX_RETRIES;
    groups.remove();
    while groups.exist() && retries > 0 {
        tokio::time::sleep(RETRY_DELAY).await;
        groups.remove();
        retries -= 1;
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
        if !self.exported.load(Ordering::Relaxed) {
            self.kill();
        }
    }
}

// === impl TransferableInstance ===

impl Instance for TransferableInstance {
    fn is_alive(&self) -> bool {
        self.instance.is_alive()
    }

    fn usage(&self) -> Usage {
        self.instance.usage()
    }

    fn killed_for_memory(&self) -> Option<u64> {
        self.instance.killed_for_memory()
    }

    fn disk(&self) -> Option<ByteSize> {
        Some(ByteSize(self.driver_state.disk)).filter(|disk| disk.bytes() > 0)
    }

    fn destroy(&self) -> BoxFuture<'_, Result<(), DestroyError>> {
        self.instance.destroy()
    }

    /// The descriptors are those of [`from_fds`], with the spawner's channel before them.
    fn export(&self) -> Option<UpgradePayload> {
        let DriverState { spawner_handle, share, disk } = &self.driver_state;
        let spawner = spawner_handle.spawner();
        let saved = SavedInstance { spawner, processes: share.processes(), disk: *disk };
        let note = serde_json::to_value(saved).ok()?;
        let (agent, channel) = (self.agent.try_clone().ok()?, spawner_handle.export().ok()?);
        let process = self.instance.export().ok()?;
        Some(UpgradePayload { note, descriptors: vec![channel, agent, process], children: vec![spawner] })
    }
}
