//! A server that shows exactly what came and sends exactly what it is told; a DNS that answers from a list; and a way to
//! send a request in one line.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream, Headers, Method};
use hearth_egress::{Addresses, Client, Config, EgressPolicy, FetchRequest, RedirectMode, Resolve};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A request as it stood on the wire.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// `GET /path HTTP/1.1`
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// What the server does with a request.
pub enum Reply {
    /// These bytes, and the connection stays open.
    Keep(Vec<u8>),
    /// These bytes, and the connection is closed.
    Close(Vec<u8>),
    /// These bytes, and nothing more until the client goes away.
    Hang(Vec<u8>),
}

pub struct Server {
    pub address: SocketAddr,
    pub seen: Arc<Mutex<Vec<Seen>>>,
    pub connections: Arc<AtomicUsize>,
    /// The connections whose client went away, or that the server closed.
    pub closed: UnboundedReceiver<usize>,
    /// One for each request whose head has come.
    pub heads: UnboundedReceiver<String>,
}

type Handler = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;
type Accept<S> = Arc<dyn Fn(TcpStream) -> Pin<Box<dyn Future<Output = io::Result<S>> + Send>> + Send + Sync>;

/// What a connection's task reports to.
#[derive(Clone)]
struct Reports {
    seen: Arc<Mutex<Vec<Seen>>>,
    heads: UnboundedSender<String>,
}

// === impl Server ===

impl Server {
    pub async fn start(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_with(Arc::new(|stream| Box::pin(async move { Ok(stream) })), handler).await
    }

    pub async fn start_with<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        accept: Accept<S>,
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let handler: Handler = Arc::new(handler);
        let connections = Arc::<AtomicUsize>::default();
        let (closing, closed) = unbounded_channel();
        let (heads_in, heads) = unbounded_channel();
        let reports = Reports { seen: Arc::default(), heads: heads_in };
        let (seen, count) = (reports.seen.clone(), connections.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let id = count.fetch_add(1, Ordering::SeqCst);
                let (accept, handler, reports, closing) =
                    (accept.clone(), handler.clone(), reports.clone(), closing.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = accept(stream).await {
                        serve(stream, handler, reports).await.ok();
                    }
                    closing.send(id).ok();
                });
            }
        });
        Self { address, seen, connections, closed, heads }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn named(&self, scheme: &str, host: &str, path: &str) -> String {
        format!("{scheme}://{host}:{}{path}", self.address.port())
    }

    pub fn last(&self) -> Seen {
        self.seen.lock().unwrap().last().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn lines(&self) -> Vec<String> {
        self.seen.lock().unwrap().iter().map(|seen| seen.line.clone()).collect()
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(stream: S, handler: Handler, reports: Reports) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let Some(seen) = read_request(&mut stream, &reports.heads).await? else { return Ok(()) };
        reports.seen.lock().unwrap().push(seen.clone());
        let (bytes, reply) = match handler(&seen) {
            Reply::Keep(bytes) => (bytes, 0),
            Reply::Close(bytes) => (bytes, 1),
            Reply::Hang(bytes) => (bytes, 2),
        };
        stream.write_all(&bytes).await?;
        stream.flush().await?;
        match reply {
            0 => {}
            1 => return Ok(()),
            _ => {
                return tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.map(drop);
            }
        }
    }
}

async fn read_request<S: AsyncRead + Unpin>(
    stream: &mut BufReader<S>,
    heads: &UnboundedSender<String>,
) -> io::Result<Option<Seen>> {
    let mut seen = Seen::default();
    let mut lines = Vec::new();
    loop {
        let mut line = Vec::new();
        stream.read_until(b'\n', &mut line).await?;
        if line.is_empty() {
            return Ok(None);
        }
        // Latin-1, as bytes come.
        let line: String = line.iter().map(|b| char::from(*b)).collect();
        match line.trim_end_matches(['\r', '\n']) {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    seen.line = lines.remove(0);
    heads.send(seen.line.clone()).ok();
    seen.headers = lines
        .iter()
        .map(|line| line.split_once(": ").or(line.split_once(':')).unwrap())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    if let Some(length) = seen.header("content-length") {
        seen.body = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut seen.body).await?;
    } else if seen.header("transfer-encoding") == Some("chunked") {
        loop {
            let mut size = String::new();
            stream.read_line(&mut size).await?;
            let size = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).await?;
            seen.body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
    }
    Ok(Some(seen))
}

// === impl Seen ===

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap()
    }
}

/// A response with a body and its length.
pub fn ok(body: &str) -> Reply {
    Reply::Keep(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes())
}

pub fn reply(text: &str) -> Reply {
    Reply::Keep(text.into())
}

pub fn redirect(status: u16, location: &str) -> Reply {
    Reply::Keep(format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 5\r\n\r\nmoved").into())
}

/// A response whose body is these bytes in this coding.
pub fn encoded(coding: &str, bytes: &[u8]) -> Vec<u8> {
    let mut response =
        format!("HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ncontent-length: {}\r\n\r\n", bytes.len())
            .into_bytes();
    response.extend_from_slice(bytes);
    response
}

/// A DNS that gives the answers of a name one after the other, the last for ever.
#[derive(Clone, Default)]
pub struct Dns {
    answers: Arc<Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>>,
    pub asked: Arc<Mutex<Vec<String>>>,
}

impl Dns {
    pub fn with(self, name: &str, answers: &[&[&str]]) -> Self {
        let parse = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        self.answers.lock().unwrap().insert(name.to_owned(), answers.iter().map(parse).collect());
        self
    }

    pub fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Resolve for Dns {
    fn resolve<'a>(&'a self, host: &'a str) -> Addresses<'a> {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let answer = match answers.get_mut(host) {
            Some(answers) if answers.len() > 1 => Ok(answers.pop_front().unwrap()),
            Some(answers) => Ok(answers[0].clone()),
            None => Err(io::Error::new(io::ErrorKind::NotFound, "no such name")),
        };
        Box::pin(async move { answer })
    }
}

/// Absolute URLs and absolute paths.
fn resolve(location: &str, base: &str) -> Option<String> {
    if location.contains(':') {
        return Some(location.to_owned());
    }
    let origin = base.match_indices('/').nth(2).map_or(base, |(at, _)| &base[..at]);
    location.starts_with('/').then(|| format!("{origin}{location}"))
}

pub fn config() -> Config {
    Config::new(resolve)
}

pub fn client(policy: &str) -> Client {
    config().build().unwrap().client(policy.parse().unwrap())
}

pub fn client_with(policy: &str, dns: &Dns) -> Client {
    Config { dns: Arc::new(dns.clone()), ..config() }.build().unwrap().client(policy.parse::<EgressPolicy>().unwrap())
}

/// Any server of these tests, and nothing else.
pub const LOCAL: &str = "127.0.0.1";

pub fn request(method: &str, url: &str) -> FetchRequest {
    FetchRequest {
        method: Method::parse(method),
        url: url.to_owned(),
        headers: Headers::new(),
        body: Body::Empty,
        redirect: RedirectMode::Follow,
    }
}

pub fn get(url: &str) -> FetchRequest {
    request("GET", url)
}

pub trait With {
    fn header(self, name: &str, value: &str) -> Self;
    fn body(self, body: impl Into<Body>) -> Self;
    fn redirect(self, mode: RedirectMode) -> Self;
}

impl With for FetchRequest {
    fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push(name.as_bytes(), value.as_bytes());
        self
    }

    fn body(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }

    fn redirect(mut self, mode: RedirectMode) -> Self {
        self.redirect = mode;
        self
    }
}

pub async fn text(client: &Client, outgoing: FetchRequest) -> String {
    let incoming = client.send(outgoing).await.unwrap();
    String::from_utf8(incoming.response.body.collect().await.unwrap().to_vec()).unwrap()
}

/// A body that gives these pieces, with or without a promise of their length.
pub struct Pieces {
    pub pieces: VecDeque<Result<Bytes, BodyError>>,
    pub promise: Option<u64>,
}

pub fn pieces(pieces: &[&'static str], promise: Option<u64>) -> Body {
    let pieces = pieces.iter().map(|piece| Ok(Bytes::from_static(piece.as_bytes()))).collect();
    Body::Stream(Box::new(Pieces { pieces, promise }))
}

impl ByteStream for Pieces {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        Poll::Ready(self.pieces.pop_front())
    }

    fn remaining(&self) -> Option<u64> {
        self.promise
    }
}

/// Whether the future is ready at once.
pub fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Reads up to the empty line that ends a request's head.
pub async fn read_head(stream: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
}
