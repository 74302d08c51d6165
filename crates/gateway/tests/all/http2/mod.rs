//! HTTP/2 with a real client (`h2`'s).

use std::time::Duration;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::support::*;

mod bodies;
mod frames;
mod lifecycle;
mod messages;
mod sockets;

const SHORT: Duration = Duration::from_millis(30);

pub struct Client2 {
    pub send: SendRequest<Bytes>,
    /// Ends with the connection.
    pub connection: JoinHandle<Result<(), h2::Error>>,
}

impl Client2 {
    pub async fn over(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Self {
        let (send, connection) = h2::client::handshake(io).await.unwrap();
        Self { send, connection: tokio::spawn(connection) }
    }

    async fn connect(server: &Running) -> Self {
        Self::over(TcpStream::connect(server.address).await.unwrap()).await
    }

    /// Starts a request whose body is still to come.
    async fn open(&mut self, request: http::request::Builder) -> (ResponseFuture, SendStream<Bytes>) {
        std::future::poll_fn(|cx| self.send.poll_ready(cx)).await.unwrap();
        self.send.send_request(request.body(()).unwrap(), false).unwrap()
    }

    async fn begin(&mut self, request: http::request::Builder) -> ResponseFuture {
        std::future::poll_fn(|cx| self.send.poll_ready(cx)).await.unwrap();
        self.send.send_request(request.body(()).unwrap(), true).unwrap().0
    }

    pub async fn ask(&mut self, request: http::request::Builder) -> Reply {
        reply(self.begin(request).await.await.unwrap()).await
    }
}

pub fn request(path: &str) -> http::request::Builder {
    http::Request::builder().uri(format!("http://h{path}"))
}

fn post(path: &str) -> http::request::Builder {
    request(path).method("POST")
}

/// The next piece that is not empty; a stream's end may be a frame of its own.
async fn next(body: &mut RecvStream) -> Option<Result<Bytes, h2::Error>> {
    loop {
        match body.data().await {
            Some(Ok(piece)) if piece.is_empty() => {}
            Some(Ok(piece)) => {
                body.flow_control().release_capacity(piece.len()).unwrap();
                return Some(Ok(piece));
            }
            end => return end,
        }
    }
}

async fn reply(response: http::Response<RecvStream>) -> Reply {
    let (head, mut stream) = response.into_parts();
    let mut headers = hearth_core::Headers::new();
    head.headers.iter().for_each(|(name, value)| headers.push(name.as_str().as_bytes(), value.as_bytes()));
    let mut body = Vec::new();
    while let Some(piece) = next(&mut stream).await {
        body.extend_from_slice(&piece.unwrap());
    }
    Reply { status: head.status.as_u16(), headers, body }
}

/// Sends a piece when there is room for it.
async fn send(stream: &mut SendStream<Bytes>, mut piece: Bytes) {
    while !piece.is_empty() {
        stream.reserve_capacity(piece.len());
        while stream.capacity() == 0 {
            std::future::poll_fn(|cx| stream.poll_capacity(cx)).await.unwrap().unwrap();
        }
        stream.send_data(piece.split_to(stream.capacity().min(piece.len())), false).unwrap();
    }
}
