//! Cells that do not start, and cells that do not drain: the server serves on, and can be stopped.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use hearth_ipc::fd_passing;

use super::scene::{await_balance, await_standby, children, crashes, serve, signal};
use crate::folder::eventually;
use crate::server::{PATIENCE, command};

#[test]
fn cells_that_are_stopped_while_starting_are_killed_and_others_serve() {
    let (_folder, server) = serve("cells-start-stopped", "1", "");
    for _ in 0..3 {
        let before = children(&server);
        for cell in &before {
            signal(*cell, "-KILL");
        }
        eventually(&server, "another one is started", || children(&server).iter().any(|cell| !before.contains(cell)));
        for cell in children(&server).into_iter().filter(|cell| !before.contains(cell)) {
            signal(cell, "-STOP");
        }
        server.expect("/victim/", "well");
        await_standby(&server);
    }
    let causes: Vec<_> = crashes(&server).iter().map(|crash| crash["cause"].clone()).collect();
    assert!(causes.iter().any(|cause| cause == "not_started" || cause == "frozen"), "{causes:?}");
    await_balance(&server);
}

#[test]
fn a_server_with_only_stopped_cells_can_be_stopped() {
    let (_folder, mut server) = serve("cells-all-stopped", "1", "drain_timeout: 10m\n");
    let cells = children(&server);
    for cell in &cells {
        signal(*cell, "-STOP");
    }
    server.signal("-TERM");
    let (status, log) = server.wait();
    assert!(status.success(), "{status}; the log:\n{log}");
    assert!(log.contains("it is stopped and does not drain"), "{log}");
}

/// Before a cell reads its socket it could not notice that control is gone.
#[test]
fn a_starting_cell_ends_with_the_thread_that_spawned_it() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let watched = theirs.try_clone().unwrap();
    let started = thread::scope(|scope| {
        let start = || {
            let mut cell = command();
            cell.arg("cell").stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
            let cell = cell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            fd_passing::send(&ours, &[File::open("/dev/null").unwrap().as_fd()]).unwrap();
            // Next, it waits for its plan.
            let deadline = Instant::now() + PATIENCE;
            while rustix::io::ioctl_fionread(&watched).unwrap() > 0 && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(1));
            }
            cell
        };
        scope.spawn(start).join().unwrap()
    });
    assert_eq!(ended(started), Some(9), "the cell goes on, although the thread that spawned it has ended");
}

/// The signal that ended the process.
fn ended(mut cell: Child) -> Option<i32> {
    let deadline = Instant::now() + PATIENCE / 6;
    while Instant::now() < deadline {
        if let Some(status) = cell.try_wait().unwrap() {
            return status.signal();
        }
        thread::sleep(Duration::from_millis(5));
    }
    cell.kill().unwrap();
    cell.wait().unwrap();
    None
}
