//! The process that makes sandboxes, and requests to it. Each request has a ticket; when the caller
//! of a request has gone, the sandbox that the reply brings is ended.
//!
//! States: `Alive -> Dead`, when its end of the channel closes. All waiting requests then get an
//! error.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hearth_sandbox_spawner::cgroup::CgroupHierarchies;
use hearth_sandbox_spawner::{HostFeatures, SandboxSpec, SpawnReply, SpawnRequest, seqpacket};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::SpawnerCommand;
use super::instance::{self, DriverState};
use super::process_budget::ProcessShare;
use super::spawner_handle::SpawnerHandle;
use crate::driver::{BootError, Booted};

/// A spawner answers in milliseconds. One that does not answer for so long may have been stopped;
/// it is replaced, and its sandboxes go on.
const SPAWNER_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Spawner {
    shared: Arc<Shared>,
    spawner_handle: Arc<SpawnerHandle>,
    host_features: HostFeatures,
    alive: watch::Receiver<SpawnerState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpawnerState {
    Alive,
    Dead,
}

struct Shared {
    channel: Channel,
    waiting: Mutex<Waiting>,
    hierarchies: CgroupHierarchies,
    /// Held by the spawner and each of its sandboxes; the process ends with the last of them.
    spawner_handle: Weak<SpawnerHandle>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    /// By ticket.
    by_ticket: HashMap<u64, PendingSpawn>,
}

/// A requested sandbox.
struct PendingSpawn {
    name: String,
    share: ProcessShare,
    /// Bytes.
    disk: u64,
    reply: oneshot::Sender<Result<Booted, NotCreated>>,
}

/// Why there is no sandbox.
pub(super) enum NotCreated {
    /// This sandbox cannot be made.
    Failed(BootError),
    /// This spawner makes no more sandboxes.
    Unfit(String),
}

impl Spawner {
    /// `disks`: the folder that sandboxes' files lie in.
    pub(super) async fn start(
        command: &SpawnerCommand,
        hierarchies: CgroupHierarchies,
        disks: Option<PathBuf>,
    ) -> Result<Self, BootError> {
        let failed = |error: io::Error| BootError { reason: format!("the spawner cannot be started: {error}") };
        let (ours, theirs) = seqpacket::pair().map_err(failed)?;
        let mut program = Command::new(&command.program);
        program.args(&command.arguments).env_clear().stdin(theirs).stdout(Stdio::null());
        // Not in the terminal's process group: an interrupt is for the server, which then ends it
        // in order.
        program.process_group(0);
        let child = program.spawn().map_err(failed)?;
        drop(program);
        // From here on the handle ends it on any error.
        let spawner_handle = Arc::new(SpawnerHandle::new(child.id(), ours.try_clone().map_err(failed)?));
        let channel = Channel::new(ours).map_err(failed)?;
        channel.send(&SpawnRequest::Begin { disks }).await.map_err(failed)?;
        let silent = |_| BootError { reason: format!("the spawner was not ready after {SPAWNER_TIMEOUT:?}") };
        let host_features = match timeout(SPAWNER_TIMEOUT, channel.receive()).await.map_err(silent)?.map_err(failed)? {
            Some((SpawnReply::Ready(host_features), _)) => host_features,
            Some((SpawnReply::Unable { reason }, _)) => return Err(BootError { reason }),
            _ => return Err(BootError { reason: "the spawner ended before it was ready".to_owned() }),
        };
        let shared = Arc::new(Shared {
            channel,
            waiting: Mutex::default(),
            hierarchies,
            spawner_handle: Arc::downgrade(&spawner_handle),
        });
        let (life, alive) = watch::channel(SpawnerState::Alive);
        tokio::spawn(listen(Arc::downgrade(&shared), life));
        Ok(Self { shared, spawner_handle, host_features, alive })
    }

    pub(super) fn host_features(&self) -> &HostFeatures {
        &self.host_features
    }

    pub(super) fn is_alive(&self) -> bool {
        *self.alive.borrow() == SpawnerState::Alive
    }

    pub(super) async fn create(&self, sandbox_spec: SandboxSpec, share: ProcessShare) -> Result<Booted, NotCreated> {
        let (answer, answered) = oneshot::channel();
        let ticket = {
            let mut waiting = self.shared.lock();
            waiting.last += 1;
            let ticket = waiting.last;
            waiting.by_ticket.insert(
                ticket,
                PendingSpawn { name: sandbox_spec.name.clone(), share, disk: self.disk(&sandbox_spec), reply: answer },
            );
            ticket
        };
        let ask = SpawnRequest::Create { ticket, spec: sandbox_spec };
        if let Err(error) = self.shared.channel.send(&ask).await {
            self.shared.lock().by_ticket.remove(&ticket);
            return Err(NotCreated::Unfit(format!("the request cannot be sent: {error}")));
        }
        match timeout(SPAWNER_TIMEOUT, answered).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(NotCreated::Unfit("it has died".to_owned()))),
            Err(_) => {
                self.shared.lock().by_ticket.remove(&ticket);
                Err(NotCreated::Unfit(format!("it has not answered for {SPAWNER_TIMEOUT:?}")))
            }
        }
    }

    /// The disk space that the sandbox will really have.
    fn disk(&self, sandbox_spec: &SandboxSpec) -> u64 {
        match self.host_features.without_disks {
            None => sandbox_spec.disk,
            Some(_) => sandbox_spec.disk_in_memory(),
        }
    }

    /// Resolves when it is gone, unless it was exported. Its sandboxes end with it.
    pub(super) async fn end(&self) {
        let spawner_handle = self.spawner_handle.clone();
        // On a thread that may block; the process ends at once.
        let _ = tokio::task::spawn_blocking(move || spawner_handle.end()).await;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, said: SpawnReply, fds: Vec<OwnedFd>) {
        let (ticket, booted) = match said {
            SpawnReply::Created { ticket, .. } => (ticket, Ok(fds)),
            SpawnReply::Failed { ticket, reason } => (ticket, Err(NotCreated::Failed(BootError { reason }))),
            SpawnReply::Unfit { ticket, reason } => (ticket, Err(NotCreated::Unfit(reason))),
            // Only sent once, at the beginning.
            SpawnReply::Ready(_) | SpawnReply::Unable { .. } => return,
        };
        let Some(PendingSpawn { name, share, disk, reply }) = self.lock().by_ticket.remove(&ticket) else { return };
        // If the caller has gone, dropping the result ends the sandbox.
        let booted = booted.and_then(|fds| self.booted(&name, share, disk, fds).map_err(NotCreated::Failed));
        let _ = reply.send(booted);
    }

    fn booted(&self, name: &str, share: ProcessShare, disk: u64, fds: Vec<OwnedFd>) -> Result<Booted, BootError> {
        let gone = || BootError { reason: "the spawner was ended meanwhile".to_owned() };
        let spawner_handle = self.spawner_handle.upgrade().ok_or_else(gone)?;
        let groups = self.hierarchies.groups(spawner_handle.spawner(), name);
        instance::from_fds(fds, groups, DriverState { spawner_handle, share, disk })
    }
}

/// Delivers replies to their callers, until the spawner is gone.
async fn listen(shared: Weak<Shared>, life: watch::Sender<SpawnerState>) {
    while let Some(shared) = shared.upgrade() {
        match shared.channel.receive().await {
            Ok(Some((said, fds))) => shared.answer(said, fds),
            Ok(None) => break,
            Err(error) => {
                tracing::warn!(%error, "sandbox spawner sent an invalid message");
                break;
            }
        }
    }
    life.send_replace(SpawnerState::Dead);
    if let Some(shared) = shared.upgrade() {
        shared.lock().by_ticket.clear();
    }
}

/// The driver's end of the channel. It is a seqpacket socket, which keeps messages apart, wrapped
/// in a stream type only for its readiness.
struct Channel(UnixStream);

impl Channel {
    fn new(socket: OwnedFd) -> io::Result<Self> {
        let socket = std::os::unix::net::UnixStream::from(socket);
        socket.set_nonblocking(true)?;
        UnixStream::from_std(socket).map(Self)
    }

    async fn send(&self, ask: &SpawnRequest) -> io::Result<()> {
        self.0.async_io(Interest::WRITABLE, || seqpacket::send(self.0.as_fd(), ask, &[])).await
    }

    async fn receive(&self) -> io::Result<Option<(SpawnReply, Vec<OwnedFd>)>> {
        self.0.async_io(Interest::READABLE, || seqpacket::receive(self.0.as_fd())).await
    }
}
