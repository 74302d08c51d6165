//! Bodies that leave the threads that run JavaScript: pulling such a body runs the script, and it
//! is pulled on those threads. Its reader may be on any thread.

use std::task::{Context, Poll};

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream, Response};
use tokio::sync::mpsc;

/// Pieces in transit.
const PIECES: usize = 1;

struct Forwarded {
    pieces: mpsc::Receiver<Result<Bytes, BodyError>>,
}

/// The response, with a body that a task of its own pulls here. Dropping it cancels the original
/// body.
pub(crate) fn forward(mut response: Response) -> Response {
    if let Body::Stream(_) = response.body {
        let mut body = std::mem::replace(&mut response.body, Body::Empty);
        let (sender, pieces) = mpsc::channel(PIECES);
        tokio::spawn(async move {
            loop {
                let piece = tokio::select! {
                    biased;
                    () = sender.closed() => return,
                    piece = body.next() => piece,
                };
                let Some(piece) = piece else { return };
                if sender.send(piece).await.is_err() {
                    return;
                }
            }
        });
        response.body = Body::Stream(Box::new(Forwarded { pieces }));
    }
    response
}

impl ByteStream for Forwarded {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.pieces.poll_recv(cx)
    }
}
