//! Handles to spawner processes. A spawner ends with the last handle to it, and its sandboxes with it.
//! After an upgrade the sandboxes of the previous program keep their old spawner; new sandboxes are
//! made by a new spawner, whose agent is that of the new program.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hearth_sandbox_spawner::cgroup::CgroupHierarchies;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::instance::{self, DriverState, SavedInstance};
use super::process_budget::ProcessBudget;
use crate::driver::{BootError, Booted};
use crate::id::SandboxId;
use crate::upgrade::UpgradePayload;

/// Keeps a spawner, a child of this process. Dropping the handle ends the spawner, unless it was
/// exported.
///
/// States: `Held -> Ended`, or `Held -> Exported`.
pub(super) struct SpawnerHandle {
    spawner: u32,
    channel: OwnedFd,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Held,
    Exported,
    Ended,
}

/// Spawners of previous programs, for as long as any of their sandboxes is alive.
#[derive(Default)]
pub(super) struct InheritedSpawners {
    by_process: Mutex<HashMap<u32, Weak<SpawnerHandle>>>,
}

// === impl SpawnerHandle ===

impl SpawnerHandle {
    /// `channel` may be a copy: it is only used to end the connection.
    pub(super) fn new(spawner: u32, channel: OwnedFd) -> Self {
        Self { spawner, channel, state: Mutex::new(State::Held) }
    }

    pub(super) fn spawner(&self) -> u32 {
        self.spawner
    }

    /// From now on the next program keeps the spawner, by the returned channel.
    pub(super) fn export(&self) -> io::Result<OwnedFd> {
        let channel = self.channel.try_clone()?;
        *self.lock() = State::Exported;
        Ok(channel)
    }

    /// Kills the spawner and waits for its end, which takes no time. Blocks.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        if *state != State::Held {
            return;
        }
        *state = State::Ended;
        drop(state);
        // Fails only where it is closed already.
        let _ = rustix::net::shutdown(&self.channel, rustix::net::Shutdown::Both);
        let Some(process) = i32::try_from(self.spawner).ok().and_then(Pid::from_raw) else { return };
        // The spawner ends because its channel is closed; the signal only makes it sooner. Neither call
        // fails for a child of this process.
        let _ = kill_process(process, Signal::KILL);
        let _ = waitpid(Some(process), WaitOptions::empty());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SpawnerHandle {
    fn drop(&mut self) {
        self.end();
    }
}

// === impl InheritedSpawners ===

impl InheritedSpawners {
    /// A sandbox of the previous program, from what its instance exported.
    pub(super) fn import(
        &self,
        hierarchies: &CgroupHierarchies,
        budget: &Arc<ProcessBudget>,
        id: SandboxId,
        payload: UpgradePayload,
    ) -> Result<Booted, BootError> {
        let unreadable =
            |error: serde_json::Error| BootError { reason: format!("its saved form cannot be read: {error}") };
        let SavedInstance { spawner, processes, disk } = serde_json::from_value(payload.note).map_err(unreadable)?;
        let mut fds = payload.descriptors.into_iter();
        let channel = fds.next().ok_or_else(|| BootError { reason: "its spawner is missing".to_owned() })?;
        let spawner_handle = self.handle(spawner, channel);
        let driver_state = DriverState { spawner_handle, share: budget.import(processes), disk };
        instance::from_fds(fds.collect(), hierarchies.groups(spawner, &id.to_string()), driver_state)
    }

    /// The handle to that spawner: the known one, or a new one with this channel.
    fn handle(&self, spawner: u32, channel: OwnedFd) -> Arc<SpawnerHandle> {
        let mut all = self.by_process.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, handle| handle.strong_count() > 0);
        let known = all.get(&spawner).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let handle = Arc::new(SpawnerHandle::new(spawner, channel));
            all.insert(spawner, Arc::downgrade(&handle));
            handle
        })
    }
}
