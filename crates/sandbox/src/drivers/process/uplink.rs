//! Connections out of a sandbox: accepted from a listener that is inside, until the proxy has gone.
//! Then the listener closes, and programs in the sandbox are refused at once.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;

use hearth_sandbox_spawner::PROXY_ADDR;
use tokio::sync::mpsc;

use crate::driver::{BidiStream, Uplink};

/// Connections that wait for the proxy.
const MAX_QUEUED: usize = 16;

/// On the current runtime.
pub(super) fn open(listener: OwnedFd) -> io::Result<Uplink> {
    let kept = Some(listener.try_clone()?);
    let listener = TcpListener::from(listener);
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (sender, connections) = mpsc::channel(MAX_QUEUED);
    tokio::spawn(accept(listener, sender));
    Ok(Uplink { inside: PROXY_ADDR, connections, listener: kept })
}

async fn accept(listener: tokio::net::TcpListener, sender: mpsc::Sender<Box<dyn BidiStream>>) {
    loop {
        let accepted = tokio::select! {
            () = sender.closed() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((connection, _)) => {
                if sender.send(Box::new(connection)).await.is_err() {
                    return;
                }
            }
            // The connection failed, or there are too many descriptors: retried after a moment.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
        }
    }
}
