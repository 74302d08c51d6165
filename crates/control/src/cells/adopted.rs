//! Cells of the program that was here before: they serve until ours do, and are seen off then. What they say is of no
//! use (it may be in words that this program does not know), but somebody must listen, or they would wait to be heard. Those that
//! still finish what they have when the next program comes are its to see off, and are told to leave a second time.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

/// A process, and the socket to it: it ends when that is closed.
pub struct Adopted {
    pub pid: u32,
    pub socket: OwnedFd,
}

/// Cells that are on their way out.
pub(super) struct Farewell {
    there: There,
    gone: oneshot::Receiver<()>,
}

/// Those that are there, and nobody else's yet: another handle of the socket to each, where there could be one. Who takes one
/// out asks how it ended.
type There = Arc<Mutex<BTreeMap<u32, Option<OwnedFd>>>>;

/// Begins to listen to them. They are told to leave when `serving` says so, and have `patience` then.
pub(super) fn see_off(cells: Vec<Adopted>, serving: &watch::Sender<bool>, patience: Duration) -> Farewell {
    let (done, gone) = oneshot::channel();
    let there = There::default();
    let mut tasks = Vec::new();
    for cell in cells {
        lock(&there).insert(cell.pid, cell.socket.try_clone().ok());
        tasks.push(tokio::spawn(see_one_off(cell, there.clone(), serving.subscribe(), patience)));
    }
    tokio::spawn(async move {
        for task in tasks {
            // A task that panicked has left its cell to itself; the socket is closed, so it ends.
            let _ = task.await;
        }
        let _ = done.send(());
    });
    Farewell { there, gone }
}

// === impl Farewell ===

impl Farewell {
    /// When all are gone.
    pub(super) async fn end(self) {
        let _ = self.gone.await;
    }

    /// Leaves those that are still there to somebody else.
    pub(super) fn give_away(self) -> Vec<(u32, OwnedFd)> {
        let there = std::mem::take(&mut *lock(&self.there));
        // One that there is no handle for ends with us.
        there.into_iter().filter_map(|(pid, socket)| Some((pid, socket?))).collect()
    }
}

fn lock(there: &There) -> MutexGuard<'_, BTreeMap<u32, Option<OwnedFd>>> {
    // Nothing that can panic runs under this lock.
    there.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn see_one_off(cell: Adopted, there: There, mut serving: watch::Receiver<bool>, patience: Duration) {
    let Some(pid) = i32::try_from(cell.pid).ok().and_then(Pid::from_raw) else { return };
    let socket = std::os::unix::net::UnixStream::from(cell.socket);
    let socket = socket.set_nonblocking(true).and_then(|()| UnixStream::from_std(socket));
    let Ok(mut socket) = socket else { return };
    let leaving = async {
        // Without a supervisor there is nobody to serve in its place, but nobody to wait for either.
        let _ = serving.wait_for(|serving| *serving).await;
        // It is our child, and nobody has asked how it ended: the number is still its own.
        let _ = kill_process(pid, Signal::USR2);
        tokio::time::sleep(patience).await;
    };
    tokio::select! {
        () = listen(&mut socket) => {}
        () = leaving => {
            tracing::warn!(cell = cell.pid, "A cell of the program before did not come to its end: it is ended");
            let _ = kill_process(pid, Signal::KILL);
            // The kernel ends it, whatever it does.
            let _ = timeout(patience, listen(&mut socket)).await;
        }
    }
    if lock(&there).remove(&cell.pid).is_none() {
        // It is somebody else's by now, who asks how it ended.
        return;
    }
    let reaped = tokio::task::spawn_blocking(move || waitpid(Some(pid), WaitOptions::empty()));
    let _ = reaped.await;
    tracing::info!(cell = cell.pid, "A cell of the program before has ended");
}

/// To the end.
async fn listen(socket: &mut UnixStream) {
    let mut bytes = vec![0; 16 << 10];
    while let Ok(1..) = socket.read(&mut bytes).await {}
}
