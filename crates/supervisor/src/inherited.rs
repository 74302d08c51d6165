//! Cells that a previous version of the program started, inherited in an upgrade. They serve until this program's own cells
//! do, and are drained then. Their messages are read, so that they do not block on a full socket, but ignored: the protocol
//! may differ. Those that still drain at the next upgrade are handed on, and are told to drain again.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

/// An inherited cell. It ends when its socket is closed.
pub struct InheritedCell {
    pub pid: u32,
    pub socket: OwnedFd,
}

/// All inherited cells, with the tasks that drain them.
pub(super) struct InheritedCells {
    there: RunningCells,
    gone: oneshot::Receiver<()>,
}

/// The inherited cells that still run, by process id, each with a duplicate of its socket if one could be made. Removing an
/// entry takes over the duty to reap the process.
type RunningCells = Arc<Mutex<BTreeMap<u32, Option<OwnedFd>>>>;

/// Starts a task for each cell that reads its socket. When `serving` becomes true the cells are told to drain, and are
/// killed after `drain_timeout`.
pub(super) fn drain_inherited(
    cells: Vec<InheritedCell>,
    serving: &watch::Sender<bool>,
    drain_timeout: Duration,
) -> InheritedCells {
    let (done, gone) = oneshot::channel();
    let there = RunningCells::default();
    let mut tasks = Vec::new();
    for cell in cells {
        lock(&there).insert(cell.pid, cell.socket.try_clone().ok());
        tasks.push(tokio::spawn(drain_one(cell, there.clone(), serving.subscribe(), drain_timeout)));
    }
    tokio::spawn(async move {
        for task in tasks {
            // A task that panicked has dropped its cell's socket, which ends the cell.
            let _ = task.await;
        }
        let _ = done.send(());
    });
    InheritedCells { there, gone }
}

// === impl InheritedCells ===

impl InheritedCells {
    /// Completes when all have ended.
    pub(super) async fn end(self) {
        let _ = self.gone.await;
    }

    /// Gives the cells that still run to the next program.
    pub(super) fn hand_over(self) -> Vec<(u32, OwnedFd)> {
        let there = std::mem::take(&mut *lock(&self.there));
        // A cell without a duplicate of its socket ends with this program.
        there.into_iter().filter_map(|(pid, socket)| Some((pid, socket?))).collect()
    }
}

fn lock(there: &RunningCells) -> MutexGuard<'_, BTreeMap<u32, Option<OwnedFd>>> {
    // Nothing that can panic runs under this lock.
    there.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn drain_one(
    cell: InheritedCell,
    there: RunningCells,
    mut serving: watch::Receiver<bool>,
    drain_timeout: Duration,
) {
    let Some(pid) = i32::try_from(cell.pid).ok().and_then(Pid::from_raw) else { return };
    let socket = std::os::unix::net::UnixStream::from(cell.socket);
    let socket = socket.set_nonblocking(true).and_then(|()| UnixStream::from_std(socket));
    let Ok(mut socket) = socket else { return };
    let leaving = async {
        // The sender is dropped when the supervisor ends: then the cell drains at once.
        let _ = serving.wait_for(|serving| *serving).await;
        // It is a child that has not been reaped, so the process id is still its own.
        let _ = kill_process(pid, Signal::USR2);
        tokio::time::sleep(drain_timeout).await;
    };
    tokio::select! {
        () = listen(&mut socket) => {}
        () = leaving => {
            tracing::warn!(cell = cell.pid, "inherited cell killed: drain timed out");
            let _ = kill_process(pid, Signal::KILL);
            // SIGKILL cannot be ignored.
            let _ = timeout(drain_timeout, listen(&mut socket)).await;
        }
    }
    if lock(&there).remove(&cell.pid).is_none() {
        // It was handed to the next program, which reaps it.
        return;
    }
    let reaped = tokio::task::spawn_blocking(move || waitpid(Some(pid), WaitOptions::empty()));
    let _ = reaped.await;
    tracing::info!(cell = cell.pid, "inherited cell exited");
}

/// Reads and discards to the end.
async fn listen(socket: &mut UnixStream) {
    let mut bytes = vec![0; 16 << 10];
    while let Ok(1..) = socket.read(&mut bytes).await {}
}
