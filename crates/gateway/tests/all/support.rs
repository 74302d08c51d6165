//! A server for a closure, and a client that sends raw bytes and parses the answers.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteSize, ByteStream, Dispatch, Failure, Headers, MaybeReady, Request, Response};
use hearth_gateway::{Certificates, Config, Listener, Server, Stats, Summary};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

pub type Answer = Result<Response, Failure>;
type Handler = dyn Fn(Request) -> Pin<Box<dyn Future<Output = Answer> + Send>> + Send + Sync;

pub struct App(Box<Handler>);

impl Dispatch for App {
    fn dispatch(&self, request: Request) -> MaybeReady<Answer, impl Future<Output = Answer> + Send> {
        let mut answer = (self.0)(request);
        // As apps do it: a future that is ready at once is an answer.
        match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => MaybeReady::Ready(answer),
            Poll::Pending => MaybeReady::Pending(answer),
        }
    }

    /// `/at-most/N/` at the start of a path.
    fn body_limit(&self, url: &str) -> Option<ByteSize> {
        url.split_once("/at-most/")?.1.split('/').next()?.parse().ok()
    }
}

pub struct Running {
    pub address: SocketAddr,
    pub stats: Stats,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Summary>,
}

pub struct Client {
    pub stream: TcpStream,
    pub buffer: Vec<u8>,
}

#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Headers,
    pub body: Vec<u8>,
}

pub async fn start<F, Fut>(config: Config, handler: F) -> Running
where
    F: Fn(Request) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Answer> + Send + 'static,
{
    start_on(config, |socket| Listener::plain(socket.into_std().unwrap()).unwrap(), handler).await
}

pub async fn start_tls<F, Fut>(config: Config, certificates: Arc<Certificates>, handler: F) -> Running
where
    F: Fn(Request) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Answer> + Send + 'static,
{
    start_on(config, move |socket| Listener::tls(socket.into_std().unwrap(), certificates).unwrap(), handler).await
}

async fn start_on<F, Fut>(config: Config, kind: impl FnOnce(TcpListener) -> Listener, handler: F) -> Running
where
    F: Fn(Request) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Answer> + Send + 'static,
{
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    Running { address, ..start_at(config, kind(socket), handler) }
}

/// On a listener that has no address to connect to.
pub fn start_at<F, Fut>(config: Config, listener: Listener, handler: F) -> Running
where
    F: Fn(Request) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Answer> + Send + 'static,
{
    let app = App(Box::new(move |request| Box::pin(handler(request))));
    let (stop, stopped) = oneshot::channel();
    let server = Server::new(config, Arc::new(app));
    let stats = server.stats();
    let serving = tokio::spawn(server.serve(vec![listener], stopped));
    Running { address: ([0, 0, 0, 0], 0).into(), stats, stop, serving }
}

/// Answers `METHOD URL BODY`.
pub async fn mirror(request: Request) -> Answer {
    let text = format!("{} {} ", request.method.as_str(), request.url);
    let body = request.body.collect().await.map_err(|e| Failure::App { message: e.to_string() })?;
    Ok(text_response([text.as_bytes(), &body].concat()))
}

pub fn text_response(text: impl Into<Bytes>) -> Response {
    Response::new(200, Headers::new(), Body::Full(text.into()))
}

pub fn stream_response(stream: impl ByteStream + 'static) -> Response {
    Response::new(200, Headers::new(), Body::Stream(Box::new(stream)))
}

pub fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n")
}

// === impl Running ===

impl Running {
    pub async fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, buffer: Vec::new() }
    }

    /// Sends everything, then reads until the server closes.
    pub async fn all(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut client = self.connect().await;
        client.send(bytes).await;
        client.rest().await
    }

    pub async fn stop(self) -> Summary {
        self.begin_stop().await.unwrap()
    }

    pub fn begin_stop(self) -> JoinHandle<Summary> {
        self.stop.send(()).unwrap();
        self.serving
    }
}

// === impl Client ===

impl Client {
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    pub async fn ask(&mut self, bytes: impl AsRef<[u8]>) -> Reply {
        self.send(bytes).await;
        self.reply().await
    }

    /// Everything until the end, even if that is a reset.
    pub async fn rest(&mut self) -> String {
        while self.fill().await.unwrap_or(0) > 0 {}
        String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).into_owned()
    }

    pub async fn fill(&mut self) -> std::io::Result<usize> {
        self.stream.read_buf(&mut self.buffer).await
    }

    async fn need(&mut self, what: &str) {
        assert!(self.fill().await.unwrap() > 0, "the connection ended before {what}: {:?}", self.buffer);
    }

    pub async fn until(&mut self, end: &str) -> String {
        loop {
            let found = self.buffer.windows(end.len()).position(|w| w == end.as_bytes());
            if let Some(at) = found {
                let text: Vec<u8> = self.buffer.drain(..at + end.len()).collect();
                return String::from_utf8(text).unwrap();
            }
            self.need(end).await;
        }
    }

    pub async fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.buffer.len() < count {
            self.need("all bytes").await;
        }
        self.buffer.drain(..count).collect()
    }

    /// Status and headers.
    pub async fn head(&mut self) -> Reply {
        let text = self.until("\r\n\r\n").await;
        let mut lines = [httparse::EMPTY_HEADER; 120];
        let mut parsed = httparse::Response::new(&mut lines);
        parsed.parse(text.as_bytes()).unwrap();
        let mut headers = Headers::new();
        parsed.headers.iter().for_each(|h| headers.push(h.name.as_bytes(), h.value));
        Reply { status: parsed.code.unwrap(), headers, body: Vec::new() }
    }

    pub async fn reply(&mut self) -> Reply {
        let mut reply = self.head().await;
        if reply.header("transfer-encoding") == "chunked" {
            while let Some(chunk) = self.chunk().await {
                reply.body.extend_from_slice(&chunk);
            }
        } else if reply.headers.contains("content-length") {
            reply.body = self.exactly(reply.header("content-length").parse().unwrap()).await;
        }
        reply
    }

    /// A chunk, or `None` for the last.
    pub async fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = self.until("\r\n").await;
        let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
        let data = self.exactly(size).await;
        assert_eq!(self.exactly(2).await, b"\r\n");
        (size > 0).then_some(data)
    }

    pub async fn assert_closed(&mut self) {
        assert_eq!(self.rest().await, "");
    }
}

impl Reply {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| std::str::from_utf8(v).unwrap())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

// === Observing drops and streams ===

/// Reports when it is dropped.
pub struct Guard(pub mpsc::UnboundedSender<&'static str>, pub &'static str);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.send(self.1);
    }
}

/// A stream from a closure.
pub struct Made<F>(pub F, pub Option<u64>);

impl<F> ByteStream for Made<F>
where
    F: FnMut(&mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> + Send,
{
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        (self.0)(cx)
    }

    fn remaining(&self) -> Option<u64> {
        self.1
    }
}

/// Gives the pieces, one a poll.
pub fn pieces(
    all: impl IntoIterator<Item = Result<Bytes, BodyError>>,
) -> impl FnMut(&mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
    let mut all: std::collections::VecDeque<_> = all.into_iter().collect();
    move |_| Poll::Ready(all.pop_front())
}
