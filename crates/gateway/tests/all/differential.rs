//! Compares the gateway with hyper, a widely used HTTP/1.1 parser, on the same bytes: valid requests, hostile ones, and random
//! mutations of both. What both accept must be the same requests with the same bodies, in the same order. What the gateway accepts
//! hyper must accept; the gateway may reject more, but only for the reasons in [`STRICTER`].

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use hearth_core::Request;
use hearth_gateway::{Config, HalfClose};

use crate::support::*;

/// Codes of rejections that hyper does not share, and why.
const STRICTER: &[&str] = &[
    "bare_line_feed",      // RFC 9112 allows to accept LF alone, and proxies differ about it
    "host_missing",        // hyper leaves Host to its users; RFC 9112 demands a 400
    "host_repeated",       // the same
    "host_invalid",        // the same
    "length_and_encoding", // hyper lets Transfer-Encoding win, which RFC 9112 allows but calls an attack
    "transfer_encoding",   // hyper accepts any list that ends with chunked
    "invalid_target",      // fragments, user information, schemes other than http; hyper is a proxy's parser too
    "connect",             // not ours
    "content_length",      // hyper ignores a length beside an encoding, however malformed
    "malformed_body",      // spaces and tabs after a chunk's size, lone LFs, trailers that are no lines
];

#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    method: String,
    path: String,
    body: Vec<u8>,
}

type Log = Arc<Mutex<Vec<Seen>>>;

async fn hyper_server(log: Log) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let log = log.clone();
            let service = service_fn(move |request: hyper::Request<Incoming>| {
                let log = log.clone();
                async move {
                    let method = request.method().to_string();
                    let path = request.uri().path_and_query().map_or("", |p| p.as_str()).to_owned();
                    let body = request.into_body().collect().await?.to_bytes().to_vec();
                    log.lock().unwrap().push(Seen { method, path, body });
                    Ok::<_, hyper::Error>(hyper::Response::new(Full::new(bytes::Bytes::from_static(b"ok"))))
                }
            });
            tokio::spawn(http1::Builder::new().half_close(true).serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

async fn our_server(log: Log) -> Running {
    let config = Config { half_close: HalfClose::Allowed, ..Config::default() };
    start(config, move |request: Request| {
        let log = log.clone();
        async move {
            let method = request.method.as_str().to_owned();
            let path = path_of(&request.url);
            if let Ok(body) = request.body.collect().await {
                log.lock().unwrap().push(Seen { method, path, body: body.to_vec() });
            }
            Ok(text_response("ok"))
        }
    })
    .await
}

/// Path and query, as hyper has them.
fn path_of(url: &str) -> String {
    let after = url.split_once("://").unwrap().1;
    match after.find(['/', '?']) {
        Some(at) => after[at..].to_owned(),
        None => "/".to_owned(),
    }
}

/// The requests that were served of these bytes, and all bytes that were sent back.
async fn run(address: SocketAddr, log: &Log, bytes: &[u8]) -> (Vec<Seen>, String) {
    log.lock().unwrap().clear();
    let (mut reads, mut writes) = TcpStream::connect(address).await.unwrap().into_split();
    let mut answer = Vec::new();
    let send = async {
        // A server that rejects may close before it has read everything.
        let _ = writes.write_all(bytes).await;
        let _ = writes.shutdown().await;
    };
    let receive = async {
        let _ = reads.read_to_end(&mut answer).await;
    };
    tokio::join!(send, receive);
    (log.lock().unwrap().clone(), String::from_utf8_lossy(&answer).into_owned())
}

struct Pair {
    ours: Running,
    our_log: Log,
    hyper: SocketAddr,
    hyper_log: Log,
}

impl Pair {
    async fn start() -> Self {
        let (our_log, hyper_log) = (Log::default(), Log::default());
        Self {
            ours: our_server(our_log.clone()).await,
            hyper: hyper_server(hyper_log.clone()).await,
            our_log,
            hyper_log,
        }
    }

    /// Compares both servers. Gives the gateway's last answer.
    async fn compare(&self, bytes: &[u8]) -> String {
        let (ours, answer) = run(self.ours.address, &self.our_log, bytes).await;
        let (theirs, their_answer) = run(self.hyper, &self.hyper_log, bytes).await;
        let explain = || {
            let text = String::from_utf8_lossy(bytes).into_owned();
            format!("for {text:?}\nours {ours:?}\n{answer}\nhyper {theirs:?}\n{their_answer}")
        };
        // `OPTIONS *` has no path in the gateway.
        let same = |(a, b): (&Seen, &Seen)| a == b || (b.path == "*" && a.path == "/" && a.body == b.body);
        assert!(ours.len() <= theirs.len(), "we accept more: {}", explain());
        assert!(ours.iter().zip(&theirs).all(same), "we understand something else: {}", explain());
        let code = answer.rsplit_once(r#"{"error":{"code":""#).map_or("", |(_, rest)| rest.split('"').next().unwrap());
        if ours.len() < theirs.len() {
            assert!(STRICTER.contains(&code), "we accept less, for no documented reason: {}", explain());
        }
        code.to_owned()
    }
}

fn with(lines: &str, body: &str) -> String {
    format!("POST /p HTTP/1.1\r\nHost: h\r\n{lines}\r\n{body}")
}

fn chunked(body: &str) -> String {
    with("Transfer-Encoding: chunked\r\n", body)
}

/// Requests that every server must accept.
fn valid() -> Vec<Vec<u8>> {
    let all = vec![
        get("/"),
        get("/a?b=c&d=%20") + &get("/second"),
        "GET / HTTP/1.0\r\n\r\n".into(),
        "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /b HTTP/1.0\r\n\r\n".into(),
        "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n".into(),
        "GET http://other:8/x?y HTTP/1.1\r\nHost: h\r\n\r\n".into(),
        "GET http://other HTTP/1.1\r\nHost: h\r\n\r\n".into(),
        "\r\n\r\nGET /blank-lines HTTP/1.1\r\nHost: h\r\n\r\n".into(),
        "CUSTOM-METHOD /x HTTP/1.1\r\nHost: h\r\n\r\n".into(),
        with("Content-Length: 5\r\n", "hello") + &get("/after"),
        with("Content-Length: 5\r\nContent-Length: 5\r\n", "hello") + &get("/after"),
        with("Content-Length: 5\r\nConnection: close\r\n", "hello") + &get("/not-served"),
        with("Content-Length: 0\r\n", "") + &get("/after"),
        with("", "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"),
        with("Expect: 100-continue\r\nContent-Length: 5\r\n", "hello"),
        chunked("5\r\nhello\r\n0\r\n\r\n") + &get("/after"),
        chunked("5;ext=1;q=\"x\"\r\nhello\r\n0\r\nTrailer: yes\r\nMore: x\r\n\r\n") + &get("/after"),
        chunked("00005\r\nhello\r\nA\r\n0123456789\r\n0;x\r\n\r\n") + &get("/after"),
        chunked("0\r\n\r\n"),
        with("X-Empty:\r\nX-Tab:\tv\t\r\nx-utf8: \u{e9}\r\nConnection: keep-alive, x\r\n", ""),
        with("Accept: */*\r\nCookie: a=b; c=d\r\nUser-Agent: x/1 (y; z)\r\n", ""),
    ];
    all.into_iter().map(String::into_bytes).collect()
}

/// Requests that some parser may misread.
fn nasty() -> Vec<Vec<u8>> {
    let mut all = vec!["CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n".to_owned()];
    for (lines, body) in [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\nContent-Length: 40\r\n", "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: identity\r\nContent-Length: 5\r\n", "hello"),
        ("Transfer-Encoding:chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding: \u{b}chunked\r\n", "0\r\n\r\n"),
        ("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", "hello!"),
        ("Content-Length: +5\r\n", "hello"),
        ("Content-Length: 5, 5\r\n", "hello"),
        ("Content-Length: 5\0\r\n", "hello"),
        ("Content-Length : 5\r\n", "hello"),
        ("Content-Length: 99999999999999999999\r\n", "hello"),
        ("X: a\r\n b\r\n", ""),
        ("X: a\rContent-Length: 5\r\n", "hello"),
        ("X: a\nContent-Length: 5\r\n", "hello"),
        ("Host: again\r\n", ""),
        ("Upgrade: websocket\r\nConnection: upgrade\r\n", ""),
    ] {
        all.push(with(lines, body) + &get("/after"));
    }
    for body in [
        "5\nhello\n0\n\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "5\r\nhelloX\r\n0\r\n\r\n",
        "5\r\nhell\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        "10000000000000005\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\n\r\r\n",
        "5\r\nhello\r\n0\r\nGET / HTTP/1.1\r\n\r\n",
        "5;\n\r\nhello\r\n0\r\n\r\n",
    ] {
        all.push(chunked(body) + &get("/after"));
    }
    all.into_iter().map(String::into_bytes).collect()
}

fn corpus() -> Vec<Vec<u8>> {
    [valid(), nasty()].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_corpus_is_parsed_as_by_hyper() {
    let pair = Pair::start().await;
    for bytes in valid() {
        let code = pair.compare(&bytes).await;
        assert_eq!(code, "", "{}", String::from_utf8_lossy(&bytes));
    }
    for bytes in corpus() {
        pair.compare(&bytes).await;
        // A cut may make a different request of it; both must agree on which.
        for cut in (0..bytes.len()).step_by(5) {
            pair.compare(&bytes[..cut]).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mutations_are_parsed_as_by_hyper() {
    let pair = Pair::start().await;
    let (corpus, valid) = (corpus(), valid());
    let mut random = Random(0x5eed_1234_abcd_0001);
    let (mut served, mut refused) = (0, 0);
    for _ in 0..4000 {
        let source = if random.below(3) == 0 { &corpus } else { &valid };
        let mut bytes = source[random.below(source.len())].clone();
        for _ in 0..[1, 1, 1, 2, 3][random.below(5)] {
            mutate(&mut bytes, &corpus, &mut random);
        }
        if pair.compare(&bytes).await.is_empty() { served += 1 } else { refused += 1 }
    }
    // Both accepted and rejected requests occurred.
    assert!(served > 300 && refused > 300, "{served} {refused}");
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }
}

fn mutate(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    const NASTY: &[&[u8]] = &[
        b"\r",
        b"\n",
        b"\r\n",
        b"\r\n\r\n",
        b" ",
        b"\t",
        b"\0",
        b":",
        b";",
        b",",
        b"0",
        b"5",
        b"f",
        b"\x0b",
        b"\x7f",
        b"\x80",
        b"\xff",
        b"chunked",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Host: x\r\n",
        b"HTTP/1.1",
        b"HTTP/1.0",
        b"\"",
        b"#",
        b"?",
        b"//",
        b"@",
        b"Connection: close\r\n",
    ];
    let at = random.below(bytes.len() + 1);
    match random.below(6) {
        0 if !bytes.is_empty() => {
            let at = at.min(bytes.len() - 1);
            bytes[at] ^= 1 << random.below(8);
        }
        1 => {
            let end = (at + 1 + random.below(4)).min(bytes.len());
            bytes.drain(at..end);
        }
        2 | 3 => {
            let nasty = NASTY[random.below(NASTY.len())];
            bytes.splice(at..at, nasty.iter().copied());
        }
        4 => {
            let end = (at + random.below(40)).min(bytes.len());
            let copy = bytes[at..end].to_vec();
            let to = random.below(bytes.len() + 1);
            bytes.splice(to..to, copy);
        }
        _ => {
            let other = &corpus[random.below(corpus.len())];
            bytes.truncate(at);
            bytes.extend_from_slice(&other[random.below(other.len())..]);
        }
    }
}
