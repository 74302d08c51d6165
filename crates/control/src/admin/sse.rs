//! Server-sent events: stored items first, then new ones until the client disconnects. A client that is too slow gets a
//! `missed` event with the number of items that it has lost.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hearth_core::Body;
use hearth_core::pipe::{DEFAULT_CAPACITY, PipeWriter, Room, pipe};
use serde::Serialize;
use tokio::sync::broadcast::{Receiver, error::RecvError};

use crate::control::Control;

/// Interval of comments that keep proxies from closing an idle connection.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// A stream of `first`, and then of the items of `rest` that `filter` accepts, until the client or the server ends it.
pub(super) fn stream<T: Serialize + Send + Sync + 'static>(
    control: Control,
    name: &'static str,
    first: Vec<Arc<T>>,
    mut rest: Receiver<Arc<T>>,
    filter: impl Fn(&T) -> bool + Send + Sync + 'static,
) -> Body {
    let (writer, reader) = pipe(DEFAULT_CAPACITY, None);
    tokio::spawn(async move {
        // The response head is sent with the first bytes, even if there is no item yet.
        writer.write(Bytes::from_static(b": hello\n\n"));
        let events = async {
            for item in first {
                if send_event(&writer, name, &*item).await == Room::Gone {
                    return;
                }
            }
            let mut keep_alive = tokio::time::interval(KEEP_ALIVE_INTERVAL);
            loop {
                let gone = std::future::poll_fn(|cx| writer.poll_gone(cx));
                let room = tokio::select! {
                    item = rest.recv() => match item {
                        Ok(item) if filter(&item) => send_event(&writer, name, &*item).await,
                        Ok(_) => Room::Yes,
                        Err(RecvError::Lagged(missed)) => send_event(&writer, "missed", &missed).await,
                        Err(RecvError::Closed) => Room::Gone,
                    },
                    _ = keep_alive.tick() => writer.write(Bytes::from_static(b": still here\n\n")),
                    () = gone => Room::Gone,
                };
                if room == Room::Gone {
                    return;
                }
            }
        };
        tokio::select! {
            () = events => {}
            () = control.drained() => {}
        }
        writer.close();
    });
    Body::Stream(Box::new(reader))
}

async fn send_event(writer: &PipeWriter, name: &str, item: &impl Serialize) -> Room {
    // All items can be serialized, and compact JSON has no line breaks.
    let Ok(text) = serde_json::to_string(item) else { return Room::Yes };
    match writer.write(Bytes::from(format!("event: {name}\ndata: {text}\n\n"))) {
        Room::Full => writer.ready().await,
        room => room,
    }
}
