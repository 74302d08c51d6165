//! What an operator does to a server under load costs no request: deploys, roll-backs, changed files, secrets; and at the
//! end SIGTERM.
//!
//! What counts as a failure, strictly: an answer that is not 200 with a text that an app of ours could give; a connection
//! that is refused; and a connection that ends without having been announced (`connection: close`), with one exception:
//! after SIGTERM, a connection may end before the first byte of an answer: the request's bytes crossed the end of an idle
//! connection, and a client sends it again elsewhere. An answer that has begun comes whole. (That a request which has
//! reached its app is answered whatever comes is seen in `processes.rs`, where it can be told apart.)

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::archive::tgz;
use crate::folder::{Folder, eventually, says};
use crate::server::{PATIENCE, Server};

const VISITORS: usize = 4;

/// What visitors know of the server.
#[derive(Default)]
struct Weather {
    /// It was told to end: connections may go.
    ending: AtomicBool,
    /// It has been enough: visitors go home after their answer.
    is_calm: AtomicBool,
    served: std::sync::atomic::AtomicU64,
}

/// How one request went.
enum Outcome {
    Answered {
        text: String,
        close: bool,
    },
    /// The connection ended before the first byte.
    Gone,
}

/// Many clients with connections of their own, each sending one request after the other.
pub struct Load {
    weather: Arc<Weather>,
    visitors: Vec<JoinHandle<()>>,
}

impl Load {
    pub fn start(server: &Server, path: &'static str) -> Self {
        let weather = Arc::new(Weather::default());
        let visitor = |_| {
            let (weather, address) = (weather.clone(), server.address().to_owned());
            thread::spawn(move || visit(&weather, &address, path))
        };
        Self { visitors: (0..VISITORS).map(visitor).collect(), weather }
    }

    fn served(&self) -> u64 {
        self.weather.served.load(Ordering::Relaxed)
    }

    /// No visitor goes on, and none of their requests has failed.
    pub fn end(self) {
        self.weather.is_calm.store(true, Ordering::Release);
        for visitor in self.visitors {
            visitor.join().expect("no request fails");
        }
    }

    /// So many more requests have been answered.
    pub fn wait(&self, server: &Server, more: u64) {
        let before = self.served();
        eventually(server, "requests are answered", || self.served() >= before + more);
    }
}

fn visit(weather: &Weather, address: &str, path: &str) {
    loop {
        if weather.ending.load(Ordering::Acquire) || weather.is_calm.load(Ordering::Acquire) {
            return;
        }
        // The flag is up before the signal is sent: a client that is refused by a server that ends sees it.
        let mut stream = match TcpStream::connect(address) {
            Ok(stream) => stream,
            Err(_) if weather.ending.load(Ordering::Acquire) => return,
            Err(error) => panic!("refused: {error}"),
        };
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        loop {
            match request(&mut stream, path) {
                Outcome::Answered { text, close } => {
                    assert!(text.starts_with("hello "), "{text}");
                    weather.served.fetch_add(1, Ordering::Relaxed);
                    if close || weather.is_calm.load(Ordering::Acquire) {
                        break;
                    }
                }
                Outcome::Gone => {
                    assert!(weather.ending.load(Ordering::Acquire), "a connection ended before its answer");
                    return;
                }
            }
        }
    }
}

fn request(stream: &mut TcpStream, path: &str) -> Outcome {
    if stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: test\r\n\r\n").as_bytes()).is_err() {
        return Outcome::Gone;
    }
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut piece) {
            Ok(0) if answer.is_empty() => return Outcome::Gone,
            Err(error) if answer.is_empty() && error.kind() == ErrorKind::ConnectionReset => return Outcome::Gone,
            Ok(0) => panic!("an answer was cut off: {:?}", String::from_utf8_lossy(&answer)),
            Ok(read) => answer.extend_from_slice(&piece[..read]),
            Err(error) => panic!("{error} within {:?}", String::from_utf8_lossy(&answer)),
        }
        let text = std::str::from_utf8(&answer).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
        if body.len() == length.parse::<usize>().unwrap() {
            assert!(head.starts_with("http/1.1 200 "), "{text}");
            return Outcome::Answered { text: body.to_owned(), close: head.contains("\r\nconnection: close") };
        }
    }
}

/// Ends the server under the load.
fn end(server: &mut Server, load: Load) {
    load.weather.ending.store(true, Ordering::Release);
    server.signal("-TERM");
    for visitor in load.visitors {
        visitor.join().expect("no request fails");
    }
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn deploys_cost_no_request() {
    let folder = Folder::new("load-deploys");
    let mut server = folder.serve(&[]);
    let deploy = |version: &str, text: &str| {
        let archive = tgz(&[("index.js", &says(text))]);
        let reply = server.ask("POST", &format!("/admin/apps?name=app&version={version}"), archive);
        assert_eq!(reply.status, 201, "{}", reply.text());
    };
    deploy("1.0.0", "hello 1.0.0");
    deploy("2.0.0", "hello 2.0.0");
    let load = Load::start(&server, "/app/");
    for round in 0..10 {
        deploy("1.0.0", &format!("hello 1.0.0 {round}"));
        server.ask_json("POST", "/admin/apps/app/activate?version=1.0.0", "");
        server.expect("/app/", &format!("hello 1.0.0 {round}"));
        load.wait(&server, 20);
        if round % 2 == 0 {
            server.ask_json("POST", "/admin/apps/app/rollback", "");
        } else {
            server.ask_json("POST", "/admin/apps/app/activate?version=2.0.0", "");
        }
        server.expect("/app/", "hello 2.0.0");
        load.wait(&server, 20);
    }
    end(&mut server, load);
}

#[test]
fn changed_files_and_secrets_cost_no_request() {
    let code = |text: &str| {
        format!("export default {{ fetch: (request, env) => new Response(`hello {text} ${{env.WORD ?? ''}}`) }};")
    };
    let folder = Folder::with("load-changes", &[("app/index.js", &code("0"))]);
    let mut server = folder.serve(&[]);
    let load = Load::start(&server, "/app/");
    for round in 1..=5 {
        folder.write("app/index.js", code(&round.to_string()));
        crate::folder::until(&server, "/app/", |reply| reply.text().starts_with(&format!("hello {round} ")));
        load.wait(&server, 20);
        server.ask_json("PUT", "/admin/apps/app/secrets/WORD", format!("word-{round}"));
        server.expect("/app/", &format!("hello {round} word-{round}"));
        load.wait(&server, 20);
    }
    end(&mut server, load);
}
