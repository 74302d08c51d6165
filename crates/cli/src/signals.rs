//! Signals: SIGTERM and Ctrl-C end the program when the requests in flight are finished, a second one ends it at once; SIGHUP
//! makes a server read its configuration again, or end with its terminal; SIGUSR2 starts an upgrade.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use tokio::signal::unix::{SignalKind, signal};

use crate::sighup::{Hangup, Terminal};

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGTERM: i32 = 15;

/// Ready at the first SIGINT or SIGTERM, or when the terminal is closed. Once this function has returned, none of these signals
/// ends the process by itself; a second one then ends it at once.
pub fn stop(terminal: Terminal) -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut hangup = signal(SignalKind::hangup())?;
    let mut either = async move || {
        poll_fn(|cx| {
            if interrupt.poll_recv(cx).is_ready() {
                return Poll::Ready(SIGINT);
            }
            while hangup.poll_recv(cx).is_ready() {
                if terminal.hangup() == Hangup::End {
                    return Poll::Ready(SIGHUP);
                }
            }
            terminate.poll_recv(cx).map(|_| SIGTERM)
        })
        .await
    };
    Ok(async move {
        either().await;
        tracing::info!("Stopping: requests in flight are finished first");
        tokio::spawn(async move { std::process::exit(128 + either().await) });
    })
}

/// Ready at each SIGUSR2.
pub fn upgrade() -> io::Result<impl AsyncFnMut() + Send + 'static> {
    let mut wanted = signal(SignalKind::user_defined2())?;
    Ok(async move || {
        wanted.recv().await;
    })
}

/// Ready at each SIGHUP that asks for a reload.
pub fn reload(terminal: Terminal) -> io::Result<impl AsyncFnMut() + Send + 'static> {
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move || {
        loop {
            hangup.recv().await;
            if terminal.hangup() == Hangup::Reload {
                tracing::info!("Reading the configuration again");
                return;
            }
        }
    })
}
