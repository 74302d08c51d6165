//! The process that makes sandboxes, and what is said to it. Each request has a ticket; an answer whose asker has gone ends the
//! sandbox that it brings.
//!
//! States: `Alive -> Dead`, when its end of the channel closes. All who wait then get an error.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_jail::sandbox::cgroup::Hierarchies;
use hearth_jail::sandbox::{Ask, Facilities, Plan, Said, channel};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::{oneshot, watch};

use super::SpawnerCommand;
use super::heritage::{self, Lifeline};
use crate::driver::{BootError, Booted};

pub(super) struct Spawner {
    shared: Arc<Shared>,
    facilities: Facilities,
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
    hierarchies: Hierarchies,
    lifeline: Arc<Lifeline>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    /// By ticket, with the sandbox's name.
    by_ticket: HashMap<u64, (String, oneshot::Sender<Result<Booted, BootError>>)>,
}

impl Spawner {
    pub(super) async fn start(command: &SpawnerCommand, hierarchies: Hierarchies) -> Result<Self, BootError> {
        let failed = |error: io::Error| BootError { reason: format!("the spawner cannot be started: {error}") };
        let (ours, theirs) = channel::pair().map_err(failed)?;
        let mut program = Command::new(&command.program);
        program.args(&command.arguments).env_clear().stdin(theirs).stdout(Stdio::null());
        // What is typed at a terminal is for the server, which then ends it in order.
        program.process_group(0);
        let child = program.spawn().map_err(failed)?;
        drop(program);
        // Ended by whatever goes wrong from here on.
        let lifeline = Arc::new(Lifeline::new(child.id(), ours.try_clone().map_err(failed)?));
        let channel = Channel::new(ours).map_err(failed)?;
        let facilities = match channel.receive().await.map_err(failed)? {
            Some((Said::Ready(facilities), _)) => facilities,
            Some((Said::Unable { reason }, _)) => return Err(BootError { reason }),
            _ => return Err(BootError { reason: "the spawner ended before it was ready".to_owned() }),
        };
        let shared = Arc::new(Shared { channel, waiting: Mutex::default(), hierarchies, lifeline });
        let (life, alive) = watch::channel(Life::Alive);
        tokio::spawn(listen(Arc::downgrade(&shared), life));
        Ok(Self { shared, facilities, alive })
    }

    pub(super) fn facilities(&self) -> &Facilities {
        &self.facilities
    }

    pub(super) fn is_alive(&self) -> bool {
        *self.alive.borrow() == Life::Alive
    }

    pub(super) async fn create(&self, plan: Plan) -> Result<Booted, BootError> {
        let (answer, answered) = oneshot::channel();
        let ticket = {
            let mut waiting = self.shared.lock();
            waiting.last += 1;
            let ticket = waiting.last;
            waiting.by_ticket.insert(ticket, (plan.name.clone(), answer));
            ticket
        };
        let ask = Ask::Create { ticket, plan };
        if let Err(error) = self.shared.channel.send(&ask).await {
            self.shared.lock().by_ticket.remove(&ticket);
            return Err(BootError { reason: format!("the spawner cannot be asked: {error}") });
        }
        answered.await.unwrap_or_else(|_| Err(BootError { reason: "the spawner has died".to_owned() }))
    }

    /// Resolves when it is gone, unless another program goes on with it. Its sandboxes end with it.
    pub(super) async fn end(&self) {
        let lifeline = self.shared.lifeline.clone();
        // Waits in a thread that may: the process ends at once.
        let _ = tokio::task::spawn_blocking(move || lifeline.end()).await;
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        self.shared.lifeline.end();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, said: Said, fds: Vec<OwnedFd>) {
        let (ticket, booted) = match said {
            Said::Created { ticket, .. } => (ticket, Ok(fds)),
            Said::Failed { ticket, reason } => (ticket, Err(BootError { reason })),
            // Said once, at the beginning.
            Said::Ready(_) | Said::Unable { .. } => return,
        };
        let Some((name, asker)) = self.lock().by_ticket.remove(&ticket) else { return };
        // If nobody waits any more it is dropped here, and that ends it.
        let _ = asker.send(booted.and_then(|fds| self.booted(&name, fds)));
    }

    fn booted(&self, name: &str, fds: Vec<OwnedFd>) -> Result<Booted, BootError> {
        let groups = self.hierarchies.groups(self.lifeline.spawner(), name);
        heritage::assemble(fds, groups, self.lifeline.clone())
    }
}

/// Gives answers to those who wait for them, until the spawner is gone.
async fn listen(shared: std::sync::Weak<Shared>, life: watch::Sender<Life>) {
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

    async fn send(&self, ask: &Ask) -> io::Result<()> {
        self.0.async_io(Interest::WRITABLE, || channel::send(self.0.as_fd(), ask, &[])).await
    }

    async fn receive(&self) -> io::Result<Option<(Said, Vec<OwnedFd>)>> {
        self.0.async_io(Interest::READABLE, || channel::receive(self.0.as_fd())).await
    }
}
