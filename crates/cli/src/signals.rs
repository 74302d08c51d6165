//! Signals, as people expect them: SIGTERM and Ctrl-C end the program when what is in flight is finished; a second Ctrl-C
//! ends it at once; SIGHUP makes a server look again at all there is.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use tokio::signal::unix::{SignalKind, signal};

/// Ready at the first SIGINT or SIGTERM, from now on: neither ends the process any more once this has returned. A second
/// SIGINT ends it at once.
pub fn stop() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        poll_fn(
            |cx| {
                if interrupt.poll_recv(cx).is_ready() { Poll::Ready(()) } else { terminate.poll_recv(cx).map(drop) }
            },
        )
        .await;
        tracing::info!("Stopping: requests in flight are finished first");
        tokio::spawn(async move {
            interrupt.recv().await;
            std::process::exit(130);
        });
    })
}

/// Ready at each SIGHUP.
pub fn look_again() -> io::Result<impl AsyncFnMut() + Send + 'static> {
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move || {
        hangup.recv().await;
        tracing::info!("Looking again at all apps");
    })
}
