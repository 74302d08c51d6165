//! Cells of the program that was here before: they serve until ours do, and are seen off then. What they say is of no
//! use (it may be in words that this program does not know), but somebody must listen, or they would wait to be heard.

use std::os::fd::OwnedFd;
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

/// Begins to listen to them. They are told to leave when `serving` says so, and have `patience` then. The sender is dropped
/// when all are gone.
pub(super) fn see_off(cells: Vec<Adopted>, serving: &watch::Sender<bool>, patience: Duration) -> oneshot::Receiver<()> {
    let (gone, all_gone) = oneshot::channel();
    let tasks: Vec<_> =
        cells.into_iter().map(|cell| tokio::spawn(see_one_off(cell, serving.subscribe(), patience))).collect();
    tokio::spawn(async move {
        for task in tasks {
            // A task that panicked has left its cell to itself; the socket is closed, so it ends.
            let _ = task.await;
        }
        let _ = gone.send(());
    });
    all_gone
}

async fn see_one_off(cell: Adopted, mut serving: watch::Receiver<bool>, patience: Duration) {
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
    let reaped = tokio::task::spawn_blocking(move || waitpid(Some(pid), WaitOptions::empty()));
    let _ = reaped.await;
    tracing::info!(cell = cell.pid, "A cell of the program before has ended");
}

/// To the end.
async fn listen(socket: &mut UnixStream) {
    let mut bytes = vec![0; 16 << 10];
    while let Ok(1..) = socket.read(&mut bytes).await {}
}
