//! What of the sandboxes goes on in the next program: for each the stream to its agent, its first process, and the line to
//! the spawner that made it, which it would end with. The next program makes new ones with a spawner of its own, which
//! brings along that program's agent; those from before are kept only for as long as their sandboxes are there.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hearth_core::ByteSize;
use hearth_jail::sandbox::cgroup::{CgroupHierarchies, SandboxCgroups};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;

use super::instance::ProcessInstance;
use super::room::{Place, Room};
use super::uplink;
use crate::driver::{BootError, Booted, BoxFuture, DestroyError, Instance, Usage};
use crate::heritage::Bequest;
use crate::id::SandboxId;

/// Keeps a spawner, our child. It ends when this is dropped, unless it was left to another program.
///
/// States: `Held -> Ended`, or `Held -> Left`.
pub(super) struct Lifeline {
    spawner: u32,
    channel: OwnedFd,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Held,
    Left,
    Ended,
}

/// Spawners of programs before, for as long as any of their sandboxes is there.
#[derive(Default)]
pub(super) struct Elders {
    by_process: Mutex<HashMap<u32, Weak<Lifeline>>>,
}

#[derive(Serialize, Deserialize)]
struct Note {
    spawner: u32,
    /// That it may have.
    #[serde(default)]
    processes: u32,
    #[serde(default)]
    disk: u64,
}

/// A sandbox that can be left to another program.
struct Inheritable {
    instance: ProcessInstance,
    /// To the agent, once more.
    agent: OwnedFd,
    lifeline: Arc<Lifeline>,
    place: Place,
    disk: u64,
}

/// What a sandbox keeps of the driver's for as long as it is there.
pub(super) struct Keeps {
    pub(super) lifeline: Arc<Lifeline>,
    pub(super) place: Place,
    /// For its files, in bytes.
    pub(super) disk: u64,
}

/// A sandbox from its descriptors: the stream to its agent, its first process, and the listener of its way out, if it has one.
/// On the current runtime.
pub(super) fn assemble(fds: Vec<OwnedFd>, groups: SandboxCgroups, keeps: Keeps) -> Result<Booted, BootError> {
    let failed = |error: io::Error| BootError { reason: format!("the sandbox cannot be taken over: {error}") };
    let mut fds = fds.into_iter();
    let (Some(agent), Some(process)) = (fds.next(), fds.next()) else {
        return Err(failed(io::ErrorKind::InvalidData.into()));
    };
    let again = agent.try_clone().map_err(failed)?;
    let instance = ProcessInstance::new(process, groups).map_err(failed)?;
    let disk = keeps.disk;
    let instance = Inheritable { instance, agent: again, lifeline: keeps.lifeline, place: keeps.place, disk };
    let agent = std::os::unix::net::UnixStream::from(agent);
    agent.set_nonblocking(true).map_err(failed)?;
    let agent = UnixStream::from_std(agent).map_err(failed)?;
    let uplink = fds.next().map(uplink::open).transpose().map_err(failed)?;
    Ok(Booted { instance: Box::new(instance), agent: Box::new(agent), uplink })
}

// === impl Inheritable ===

impl Instance for Inheritable {
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
        Some(ByteSize(self.disk)).filter(|disk| disk.bytes() > 0)
    }

    fn destroy(&self) -> BoxFuture<'_, Result<(), DestroyError>> {
        self.instance.destroy()
    }

    /// The descriptors are those of [`assemble`], with the spawner's channel before them.
    fn leave(&self) -> Option<Bequest> {
        let spawner = self.lifeline.spawner;
        let note = serde_json::to_value(Note { spawner, processes: self.place.processes(), disk: self.disk }).ok()?;
        let (agent, channel) = (self.agent.try_clone().ok()?, self.lifeline.leave().ok()?);
        let process = self.instance.leave().ok()?;
        Some(Bequest { note, descriptors: vec![channel, agent, process], children: vec![spawner] })
    }
}

// === impl Lifeline ===

impl Lifeline {
    /// `channel` may be a copy: it is only used to say that nothing more comes.
    pub(super) fn new(spawner: u32, channel: OwnedFd) -> Self {
        Self { spawner, channel, state: Mutex::new(State::Held) }
    }

    pub(super) fn spawner(&self) -> u32 {
        self.spawner
    }

    /// Another program keeps it from now on, by what this returns.
    pub(super) fn leave(&self) -> io::Result<OwnedFd> {
        let channel = self.channel.try_clone()?;
        *self.lock() = State::Left;
        Ok(channel)
    }

    /// Ends it, and waits for that: it takes no time. Blocks.
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
        // Its channel is closed, so this only makes it sooner; neither fails for a child of our own.
        let _ = kill_process(process, Signal::KILL);
        let _ = waitpid(Some(process), WaitOptions::empty());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        self.end();
    }
}

// === impl Elders ===

impl Elders {
    pub(super) fn adopt(
        &self,
        all: &CgroupHierarchies,
        room: &Arc<Room>,
        id: SandboxId,
        left: Bequest,
    ) -> Result<Booted, BootError> {
        let strange = |error: serde_json::Error| BootError { reason: format!("what was left is strange: {error}") };
        let Note { spawner, processes, disk } = serde_json::from_value(left.note).map_err(strange)?;
        let mut fds = left.descriptors.into_iter();
        let channel = fds.next().ok_or_else(|| BootError { reason: "its spawner is missing".to_owned() })?;
        let keeps = Keeps { lifeline: self.keep(spawner, channel), place: room.adopt(processes), disk };
        assemble(fds.collect(), all.groups(spawner, &id.to_string()), keeps)
    }

    /// The line to it that there is, or this one.
    fn keep(&self, spawner: u32, channel: OwnedFd) -> Arc<Lifeline> {
        let mut all = self.by_process.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, lifeline| lifeline.strong_count() > 0);
        let known = all.get(&spawner).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let lifeline = Arc::new(Lifeline::new(spawner, channel));
            all.insert(spawner, Arc::downgrade(&lifeline));
            lifeline
        })
    }
}
