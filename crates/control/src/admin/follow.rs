//! Server-sent events: what is there, and then whatever comes, for as long as somebody listens. A listener that is too slow
//! is told how much it missed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hearth_core::Body;
use hearth_core::pipe::{DEFAULT_CAPACITY, PipeWriter, Room, pipe};
use serde::Serialize;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::control::Control;

/// A word now and then keeps proxies from thinking that nobody is there.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// A stream of `first`, and of what `rest` brings that `wanted` lets through, until the listener or the server goes.
pub(super) fn follow<T: Serialize + Send + Sync + 'static>(
    control: Control,
    name: &'static str,
    first: Vec<Arc<T>>,
    mut rest: Receiver<Arc<T>>,
    wanted: impl Fn(&T) -> bool + Send + Sync + 'static,
) -> Body {
    let (writer, reader) = pipe(DEFAULT_CAPACITY, None);
    tokio::spawn(async move {
        // So that the response begins even if nothing is there yet.
        writer.write(Bytes::from_static(b": hello\n\n"));
        let speech = async {
            for item in first {
                if say(&writer, name, &*item).await == Room::Gone {
                    return;
                }
            }
            let mut heartbeat = tokio::time::interval(HEARTBEAT);
            loop {
                let gone = std::future::poll_fn(|cx| writer.poll_gone(cx));
                let room = tokio::select! {
                    item = rest.recv() => match item {
                        Ok(item) if wanted(&item) => say(&writer, name, &*item).await,
                        Ok(_) => Room::Yes,
                        Err(RecvError::Lagged(missed)) => say(&writer, "missed", &missed).await,
                        Err(RecvError::Closed) => Room::Gone,
                    },
                    _ = heartbeat.tick() => writer.write(Bytes::from_static(b": still here\n\n")),
                    () = gone => Room::Gone,
                };
                if room == Room::Gone {
                    return;
                }
            }
        };
        tokio::select! {
            () = speech => {}
            () = control.drained() => {}
        }
        writer.close();
    });
    Body::Stream(Box::new(reader))
}

async fn say(writer: &PipeWriter, name: &str, item: &impl Serialize) -> Room {
    // What is said is ours, and can be said in JSON, which has no line ends.
    let Ok(text) = serde_json::to_string(item) else { return Room::Yes };
    match writer.write(Bytes::from(format!("event: {name}\ndata: {text}\n\n"))) {
        Room::Full => writer.ready().await,
        room => room,
    }
}
