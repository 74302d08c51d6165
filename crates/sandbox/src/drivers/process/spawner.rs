//! The process that makes sandboxes, and what is said to it. Each request has a ticket; an answer whose asker has gone ends the
//! sandbox that it brings.
//!
//! States: `Alive -> Dead`, when its end of the channel closes. All who wait then get an error.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hearth_jail::sandbox::cgroup::CgroupHierarchies;
use hearth_jail::sandbox::{HostFeatures, SandboxSpec, SpawnReply, SpawnRequest, seqpacket};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::SpawnerCommand;
use super::heritage::{self, Keeps, Lifeline};
use super::room::Place;
use crate::driver::{BootError, Booted};

/// It answers in milliseconds. One that does not for so long may have been stopped; another takes its place, and what it has
/// made goes on.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct Spawner {
    shared: Arc<Shared>,
    lifeline: Arc<Lifeline>,
    facilities: HostFeatures,
    alive: watch::Receiver<Life>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Alive,
    Dead,
}

struct Shared {
    channel: Channel,
    waiting: Mutex<Waiting>,
    hierarchies: CgroupHierarchies,
    /// Of the spawner itself and of each of its sandboxes; it ends with the last of them.
    lifeline: Weak<Lifeline>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    /// By ticket, with the sandbox's name.
    by_ticket: HashMap<u64, Order>,
}

/// A sandbox that was asked for.
struct Order {
    name: String,
    place: Place,
    /// Bytes.
    disk: u64,
    asker: oneshot::Sender<Result<Booted, NotCreated>>,
}

/// Why there is no sandbox.
pub(super) enum NotCreated {
    /// This one cannot be made.
    Failed(BootError),
    /// This spawner makes none any more.
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
        // What is typed at a terminal is for the server, which then ends it in order.
        program.process_group(0);
        let child = program.spawn().map_err(failed)?;
        drop(program);
        // Ended by whatever goes wrong from here on.
        let lifeline = Arc::new(Lifeline::new(child.id(), ours.try_clone().map_err(failed)?));
        let channel = Channel::new(ours).map_err(failed)?;
        channel.send(&SpawnRequest::Begin { disks }).await.map_err(failed)?;
        let silent = |_| BootError { reason: format!("the spawner was not ready after {PATIENCE:?}") };
        let facilities = match timeout(PATIENCE, channel.receive()).await.map_err(silent)?.map_err(failed)? {
            Some((SpawnReply::Ready(facilities), _)) => facilities,
            Some((SpawnReply::Unable { reason }, _)) => return Err(BootError { reason }),
            _ => return Err(BootError { reason: "the spawner ended before it was ready".to_owned() }),
        };
        let shared =
            Arc::new(Shared { channel, waiting: Mutex::default(), hierarchies, lifeline: Arc::downgrade(&lifeline) });
        let (life, alive) = watch::channel(Life::Alive);
        tokio::spawn(listen(Arc::downgrade(&shared), life));
        Ok(Self { shared, lifeline, facilities, alive })
    }

    pub(super) fn facilities(&self) -> &HostFeatures {
        &self.facilities
    }

    pub(super) fn is_alive(&self) -> bool {
        *self.alive.borrow() == Life::Alive
    }

    pub(super) async fn create(&self, plan: SandboxSpec, place: Place) -> Result<Booted, NotCreated> {
        let (answer, answered) = oneshot::channel();
        let ticket = {
            let mut waiting = self.shared.lock();
            waiting.last += 1;
            let ticket = waiting.last;
            waiting
                .by_ticket
                .insert(ticket, Order { name: plan.name.clone(), place, disk: self.disk(&plan), asker: answer });
            ticket
        };
        let ask = SpawnRequest::Create { ticket, spec: plan };
        if let Err(error) = self.shared.channel.send(&ask).await {
            self.shared.lock().by_ticket.remove(&ticket);
            return Err(NotCreated::Unfit(format!("it cannot be asked: {error}")));
        }
        match timeout(PATIENCE, answered).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(NotCreated::Unfit("it has died".to_owned()))),
            Err(_) => {
                self.shared.lock().by_ticket.remove(&ticket);
                Err(NotCreated::Unfit(format!("it has not answered for {PATIENCE:?}")))
            }
        }
    }

    /// What of the disk that is asked for there will be.
    fn disk(&self, plan: &SandboxSpec) -> u64 {
        match self.facilities.without_disks {
            None => plan.disk,
            Some(_) => plan.disk_in_memory(),
        }
    }

    /// Resolves when it is gone, unless another program goes on with it. Its sandboxes end with it.
    pub(super) async fn end(&self) {
        let lifeline = self.lifeline.clone();
        // Waits in a thread that may: the process ends at once.
        let _ = tokio::task::spawn_blocking(move || lifeline.end()).await;
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
            // Said once, at the beginning.
            SpawnReply::Ready(_) | SpawnReply::Unable { .. } => return,
        };
        let Some(Order { name, place, disk, asker }) = self.lock().by_ticket.remove(&ticket) else { return };
        // If nobody waits any more it is dropped here, and that ends it.
        let booted = booted.and_then(|fds| self.booted(&name, place, disk, fds).map_err(NotCreated::Failed));
        let _ = asker.send(booted);
    }

    fn booted(&self, name: &str, place: Place, disk: u64, fds: Vec<OwnedFd>) -> Result<Booted, BootError> {
        let gone = || BootError { reason: "the spawner was ended meanwhile".to_owned() };
        let lifeline = self.lifeline.upgrade().ok_or_else(gone)?;
        let groups = self.hierarchies.groups(lifeline.spawner(), name);
        heritage::assemble(fds, groups, Keeps { lifeline, place, disk })
    }
}

/// Gives answers to those who wait for them, until the spawner is gone.
async fn listen(shared: Weak<Shared>, life: watch::Sender<Life>) {
    while let Some(shared) = shared.upgrade() {
        match shared.channel.receive().await {
            Ok(Some((said, fds))) => shared.answer(said, fds),
            Ok(None) => break,
            Err(error) => {
                tracing::warn!(%error, "The spawner of sandboxes cannot be understood");
                break;
            }
        }
    }
    life.send_replace(Life::Dead);
    if let Some(shared) = shared.upgrade() {
        shared.lock().by_ticket.clear();
    }
}

/// The driver's end of the channel. Its socket keeps messages apart, as a stream does not; it is only ever used for whole
/// messages, and what of a stream is used here is the waiting.
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
