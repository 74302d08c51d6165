//! Connections out of a sandbox: taken from a listener that is inside, until nobody wants them any more. Then the listener
//! closes, and programs in the sandbox are refused at once.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;

use hearth_jail::sandbox::PROXY_ADDR;
use tokio::sync::mpsc;

use crate::driver::{ByteStream, Uplink};

/// Connections that wait to be served.
const QUEUE: usize = 16;

/// On the current runtime.
pub(super) fn open(listener: OwnedFd) -> io::Result<Uplink> {
    let door = Some(listener.try_clone()?);
    let listener = TcpListener::from(listener);
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (sender, connections) = mpsc::channel(QUEUE);
    tokio::spawn(accept(listener, sender));
    Ok(Uplink { inside: PROXY_ADDR, connections, door })
}

async fn accept(listener: tokio::net::TcpListener, sender: mpsc::Sender<Box<dyn ByteStream>>) {
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
            // One connection that failed, or too many descriptors: a moment later there may be fewer.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
        }
    }
}
